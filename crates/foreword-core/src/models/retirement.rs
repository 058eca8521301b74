//! Retirement dates of models, and warnings about a model.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::ModelFacts;
use crate::serde_text::serde_as_text;

/// The day from which a provider no longer serves a model. Written as `2026-11-30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct RetirementDate(Date);

/// An invalid date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not a date: write it as `2026-11-30`")]
pub struct InvalidRetirementDate {
    written: String,
}

impl FromStr for RetirementDate {
    type Err = InvalidRetirementDate;

    fn from_str(written: &str) -> Result<Self, InvalidRetirementDate> {
        let invalid = || InvalidRetirementDate { written: written.escape_debug().to_string() };
        // A time, a zone or a shorter form would be accepted by the parser and lost in the output.
        let date: Date = written.parse().map_err(|_| invalid())?;
        if date.to_string() == written { Ok(Self(date)) } else { Err(invalid()) }
    }
}

serde_as_text!(RetirementDate);

impl fmt::Display for RetirementDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A warning about a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWarning {
    /// A stable code of the warning.
    pub code: &'static str,
    /// The problem.
    pub message: String,
    /// How to fix it.
    pub help: &'static str,
}

impl ModelFacts {
    /// Warnings about this model on the day `today`: it is or will be retired, or its facts are assumed.
    ///
    /// ```
    /// use foreword_core::models::ModelCatalog;
    /// let catalog = ModelCatalog::builtin();
    /// let warnings = catalog.find("openai/o4-mini").unwrap().warnings("2026-11-17".parse().unwrap());
    /// assert_eq!(warnings[0].message, "`openai/o4-mini` was retired on 2026-10-23: the provider rejects requests for it");
    /// ```
    #[must_use]
    pub fn warnings(&self, today: Date) -> Vec<ModelWarning> {
        let mut warnings: Vec<_> = self.retirement_warning(today).into_iter().collect();
        let id = self.id.as_str().escape_debug();
        if let Some(from) = &self.assumed_from {
            let message = format!(
                "nothing is listed for `{id}`: cache rules, window and prices are assumed to be those of `{from}`"
            );
            let help = "list the model under `prices` if they differ";
            warnings.push(ModelWarning { code: "assumed_model", message, help });
        }
        warnings
    }

    /// A warning that the model is or will be retired, if a date is announced.
    #[must_use]
    pub fn retirement_warning(&self, today: Date) -> Option<ModelWarning> {
        let (date, id) = (self.retires?, self.id.as_str().escape_debug());
        let (code, message) = if date.0 <= today {
            ("retired_model", format!("`{id}` was retired on {date}: the provider rejects requests for it"))
        } else {
            ("model_retires", format!("`{id}` retires on {date}: the provider rejects requests after that"))
        };
        Some(ModelWarning { code, message, help: "choose another model under `agent.model`" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelCatalog;

    #[test]
    fn retirement_is_announced_before_and_stated_after() {
        let catalog = ModelCatalog::builtin();
        let facts = catalog.find("anthropic/claude-sonnet-4-5").unwrap();
        let code = |today: &str| facts.warnings(today.parse().unwrap())[0].code;
        assert_eq!(code("2026-11-29"), "model_retires");
        assert_eq!(code("2026-11-30"), "retired_model");
        assert!(catalog.find("offline/echo").unwrap().warnings("2026-11-17".parse().unwrap()).is_empty());
    }

    #[test]
    fn only_a_whole_date_is_accepted() {
        assert!("2026-11-30".parse::<RetirementDate>().is_ok());
        for wrong in ["", "soon", "2026-11", "2026-11-31", "20261130", "2026-11-30T08:00:00"] {
            assert!(wrong.parse::<RetirementDate>().is_err(), "{wrong}");
        }
    }
}
