//! The catalog of known models and the lookup by name. Reads the built-in table; never fetches anything.

use std::sync::LazyLock;

use foreword_prompt::tokens::Tokenizer;

use super::entry::ModelEntry;
use super::facts::ModelFacts;
use super::{ModelFamily, ModelId};

/// `data/models.yaml` as JSON, which is parsed many times faster at the start of every command.
const BUILT_IN: &str = include_str!("../../data/models.json");

/// The known models.
///
/// ```
/// use foreword_core::models::ModelCatalog;
/// let catalog = ModelCatalog::builtin();
/// let facts = catalog.find("anthropic/claude-haiku-4-5-20251001").map(|facts| facts.id.as_str());
/// assert_eq!(facts, Some("anthropic/claude-haiku-4-5"));
/// assert_eq!(catalog.find("anthropic/claude-instant"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelCatalog {
    /// In the order of the table, each id once.
    models: Vec<ModelFacts>,
}

/// Why model entries are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// Price tiers must be in ascending order.
    #[error("the price tiers of `{id}` are out of order: write them by rising `above`, each once")]
    TiersOutOfOrder {
        /// The model.
        id: ModelId,
    },
    /// The same model is listed twice.
    #[error("`{id}` is listed twice: merge the two entries")]
    Twice {
        /// The model.
        id: ModelId,
    },
    /// An alias is ambiguous.
    #[error("`{alias}` is an alias of `{id}` and the name of another model: choose another alias")]
    AliasTaken {
        /// The alias.
        alias: ModelId,
        /// The model that claims it.
        id: ModelId,
    },
    /// A calibration for an exact tokenizer.
    #[error(
        "`{id}` is counted by `{tokenizer}`, which is exact: leave out `calibration`, or choose an estimate"
    )]
    ExactCalibrated {
        /// The model.
        id: ModelId,
        /// The tokenizer.
        tokenizer: Tokenizer,
    },
    /// The lower limit is above the upper one.
    #[error("the `cache_retention` of `{id}` is out of order: `min_seconds` is above `max_seconds`")]
    RetentionOutOfOrder {
        /// The model.
        id: ModelId,
    },
    /// The table cannot be parsed.
    #[error("{0}")]
    Unreadable(String),
}

impl ModelCatalog {
    /// The built-in models, each with source and date. The table is parsed once, on the first call.
    #[must_use]
    pub fn builtin() -> Self {
        // The table is compiled in and checked by `built_in_catalog_is_valid`, so parsing cannot fail here.
        static READ: LazyLock<ModelCatalog> =
            LazyLock::new(|| ModelCatalog::from_json(BUILT_IN).unwrap_or_default());
        READ.clone()
    }

    fn from_json(table: &str) -> Result<Self, CatalogError> {
        let entries: Vec<ModelEntry> =
            serde_json::from_str(table).map_err(|error| CatalogError::Unreadable(error.to_string()))?;
        Self::default().override_with(entries)
    }

    /// Parses a table in the format of `data/models.yaml`.
    ///
    /// # Errors
    /// If it is invalid or inconsistent.
    pub fn from_yaml(table: &str) -> Result<Self, CatalogError> {
        let entries: Vec<ModelEntry> =
            serde_saphyr::from_str(table).map_err(|error| CatalogError::Unreadable(error.to_string()))?;
        Self::default().override_with(entries)
    }

    /// Adds `entries`. For a known model, fields that an entry omits keep their value.
    ///
    /// # Errors
    /// If the entries contradict each other. The catalog is consumed, so clone it first if you still need it.
    pub fn override_with(mut self, entries: Vec<ModelEntry>) -> Result<Self, CatalogError> {
        for (index, entry) in entries.iter().enumerate() {
            if entries[..index].iter().any(|before| before.id == entry.id) {
                return Err(CatalogError::Twice { id: entry.id.clone() });
            }
        }
        for entry in entries {
            match self.models.iter_mut().find(|facts| facts.id == entry.id) {
                Some(known) => *known = entry.applied_to(Some(known))?,
                None => self.models.push(entry.applied_to(None)?),
            }
        }
        self.check_aliases()?;
        Ok(self)
    }

    /// The facts about the model `name`: by its id, by an alias, or by either without a date suffix or `-latest`. A
    /// name that only starts like a known one is a different model with a different price, and is not found.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ModelFacts> {
        self.named(name).or_else(|| self.named(without_version(name)?))
    }

    /// The family of the model `name`: by its entry if it is listed, otherwise by the name. `None` if the name is
    /// invalid.
    #[must_use]
    pub fn family(&self, name: &str) -> Option<ModelFamily> {
        match self.find(name) {
            Some(facts) => Some(facts.id.family()),
            None => name.parse::<ModelId>().ok().map(|id| id.family()),
        }
    }

    /// All models, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = &ModelFacts> {
        self.models.iter()
    }

    fn named(&self, name: &str) -> Option<&ModelFacts> {
        let by_id = self.models.iter().find(|facts| facts.id.as_str() == name);
        by_id.or_else(|| {
            self.models.iter().find(|facts| facts.aliases.iter().any(|alias| alias.as_str() == name))
        })
    }

    fn check_aliases(&self) -> Result<(), CatalogError> {
        for facts in &self.models {
            for alias in &facts.aliases {
                let taken = |other: &ModelFacts| {
                    other.id == *alias || (other.id != facts.id && other.aliases.contains(alias))
                };
                if self.models.iter().any(taken) {
                    return Err(CatalogError::AliasTaken { alias: alias.clone(), id: facts.id.clone() });
                }
            }
        }
        Ok(())
    }
}

/// `name` without its version suffix: `-latest`, `-20251001`, `@20251001`, `-2026-03-05`.
pub(super) fn without_version(name: &str) -> Option<&str> {
    if let Some(rest) = name.strip_suffix("-latest") {
        return Some(rest);
    }
    let digits_at = |pattern: &[usize]| {
        // The lengths of the groups of digits, from the last, separated by `-`.
        let mut rest = name;
        for (index, length) in pattern.iter().enumerate() {
            if index > 0 {
                rest = rest.strip_suffix('-')?;
            }
            let at = rest.len().checked_sub(*length)?;
            let (before, digits) = rest.split_at_checked(at)?;
            if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            rest = before;
        }
        rest.strip_suffix(['-', '@'])
    };
    digits_at(&[8]).or_else(|| digits_at(&[2, 2, 4]))
}

#[cfg(test)]
mod tests;
