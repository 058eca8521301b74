//! Section `budgets`: spending limits for model calls.

use std::borrow::Cow;
use std::fmt;

use foreword_core::budget::{Budget, MAX_BUDGET_USD, Period};
use foreword_core::budget_rule::{BudgetRule, SpentBy};
use foreword_core::models::ModelCatalog;
use foreword_prompt::diagnostic::did_you_mean;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_saphyr::Spanned;

use super::User;
use super::parse::ConfigParser;
use super::raw::RawConfig;

/// A spending limit for model calls per day, week or month.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBudgetRule {
    /// US dollars.
    #[schemars(with = "f64")]
    pub usd: Spanned<f64>,
    /// The period, in the machine's time zone: `day`, `week` or `month`. Default: `month`.
    #[serde(default)]
    pub per: Period,
    /// Which spending is added up: `all` of it, or that of each `user`, `session` or `agent`. Default: `all`.
    #[serde(default)]
    pub of: SpentBy,
    /// Count only this user's spending.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub user: Option<Spanned<String>>,
    /// The warning threshold: `0.8` or `80 %`. Default: `80 %`.
    #[serde(default)]
    #[schemars(with = "Option<RawPart>")]
    pub warn_at: Option<Spanned<RawPart>>,
    /// Whether calls are refused once the budget is used up; `false` only warns. Default: `true`.
    #[serde(default)]
    pub stop: Option<bool>,
}

/// A fraction: `0.8` or `80 %`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RawPart {
    /// In percent.
    pub percent: f64,
}

impl<'de> Deserialize<'de> for RawPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PartVisitor)
    }
}

struct PartVisitor;

impl Visitor<'_> for PartVisitor {
    type Value = RawPart;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fraction such as 0.8 or `80 %`")
    }

    fn visit_f64<E: Error>(self, part: f64) -> Result<RawPart, E> {
        Ok(RawPart { percent: part * 100.0 })
    }

    fn visit_u64<E: Error>(self, part: u64) -> Result<RawPart, E> {
        self.visit_f64(part as f64)
    }

    fn visit_i64<E: Error>(self, part: i64) -> Result<RawPart, E> {
        self.visit_f64(part as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawPart, E> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        percent
            .map(|percent| RawPart { percent })
            .ok_or_else(|| E::custom("expected a fraction such as 0.8 or `80 %`"))
    }
}

impl JsonSchema for RawPart {
    fn schema_name() -> Cow<'static, str> {
        "RawPart".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A fraction: `0.8` or `80 %`.", "type": ["number", "string"] })
    }
}

/// The default warning threshold.
const WARN_PERCENT: f64 = 80.0;

impl ConfigParser<'_> {
    pub(super) fn budgets(&mut self, raw: &[Spanned<RawBudgetRule>], users: &[User]) -> Vec<BudgetRule> {
        let budgets = raw.iter().enumerate().map(|(place, raw)| self.budget_rule(place, &raw.value, users));
        budgets.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    fn budget_rule(&mut self, place: usize, raw: &RawBudgetRule, users: &[User]) -> Option<BudgetRule> {
        let key = format!("budgets.{place}.usd");
        let budget = Budget::new(raw.usd.value, raw.per);
        if budget.is_none() {
            let message = format!("`{key}` is {}", raw.usd.value);
            self.refuse(raw.usd.defined, message, format!("use an amount above 0, up to {MAX_BUDGET_USD}"));
        }
        if let Some(user) =
            raw.user.as_ref().filter(|user| users.iter().all(|known| *known.name != *user.value))
        {
            let near = did_you_mean(&user.value, users.iter().map(|user| &*user.name));
            let help = near
                .map_or_else(|| "name one of `users`".to_owned(), |near| format!("did you mean `{near}`?"));
            let message = format!("`budgets.{place}.user`: there is no user `{}`", user.value.escape_debug());
            self.refuse(user.defined, message, help);
        }
        let percent = raw.warn_at.as_ref().map_or(WARN_PERCENT, |part| part.value.percent);
        if let Some(part) = raw.warn_at.as_ref().filter(|_| !(1.0..=100.0).contains(&percent)) {
            let message = format!("`budgets.{place}.warn_at` is {percent} %");
            self.refuse(part.defined, message, "use 0.01 to 1, or 1 % to 100 %".to_owned());
        }
        Some(BudgetRule {
            budget: budget?,
            of: raw.of,
            user: raw.user.as_ref().map(|user| user.value.as_str().into()),
            // An out-of-range value was refused above.
            warn_percent: percent.round().clamp(1.0, 100.0) as u8,
            stop: raw.stop.unwrap_or(true),
            key,
        })
    }

    /// Notes that a budget cannot count a model without a price.
    pub(super) fn uncounted(&mut self, raw: &RawConfig, model: &str, models: &ModelCatalog) {
        let Some(first) = raw.budgets.first() else { return };
        if models.resolve(model).is_some_and(|facts| facts.prices_at(0).is_some()) {
            return;
        }
        let message =
            format!("the price of `{}` is unknown, so budgets do not count its costs", model.escape_debug());
        let help = "add it to `prices`".to_owned();
        let note = self.source.problem(first.defined, message, Some(help));
        self.notes.push(note);
    }
}
