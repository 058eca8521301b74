//! What may be spent.

use foreword_core::allowance::Allowance;
use foreword_core::budget::{Budget, HIGHEST_BUDGET};
use foreword_core::models::ModelCatalog;
use foreword_prompt::diagnostic::did_you_mean;
use serde_saphyr::Spanned;

use super::Reader;
use crate::config::User;
use crate::config::raw::{RawAllowance, RawConfig};

/// From how many percent on there is a warning, if nobody says it.
const WARN_PERCENT: f64 = 80.0;

impl Reader<'_> {
    pub(super) fn budgets(&mut self, raw: &[Spanned<RawAllowance>], users: &[User]) -> Vec<Allowance> {
        let budgets = raw.iter().enumerate().map(|(place, raw)| self.allowance(place, &raw.value, users));
        budgets.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    fn allowance(&mut self, place: usize, raw: &RawAllowance, users: &[User]) -> Option<Allowance> {
        let key = format!("budgets.{place}.usd");
        let budget = Budget::new(raw.usd.value, raw.per);
        if budget.is_none() {
            let message = format!("`{key}` is {}", raw.usd.value);
            self.refuse(raw.usd.defined, message, format!("use an amount above 0, up to {HIGHEST_BUDGET}"));
        }
        if let Some(user) =
            raw.user.as_ref().filter(|user| users.iter().all(|known| *known.name != *user.value))
        {
            let near = did_you_mean(&user.value, users.iter().map(|user| &*user.name));
            let help = near
                .map_or_else(|| "name one of `users`".to_owned(), |near| format!("did you mean `{near}`?"));
            let message = format!("`budgets.{place}.user`: nobody is called `{}`", user.value.escape_debug());
            self.refuse(user.defined, message, help);
        }
        let percent = raw.warn_at.as_ref().map_or(WARN_PERCENT, |part| part.value.percent);
        if let Some(part) = raw.warn_at.as_ref().filter(|_| !(1.0..=100.0).contains(&percent)) {
            let message = format!("`budgets.{place}.warn_at` is {percent} %");
            self.refuse(part.defined, message, "use 0.01 to 1, or 1 % to 100 %".to_owned());
        }
        Some(Allowance {
            budget: budget?,
            of: raw.of,
            user: raw.user.as_ref().map(|user| user.value.as_str().into()),
            // It was refused if it does not fit.
            warn_percent: percent.round().clamp(1.0, 100.0) as u8,
            stop: raw.stop.unwrap_or(true),
            key,
        })
    }

    /// Notes that a budget can't count what has no price.
    pub(super) fn uncounted(&mut self, raw: &RawConfig, model: &str, models: &ModelCatalog) {
        let Some(first) = raw.budgets.first() else { return };
        if models.resolve(model).is_some_and(|facts| facts.prices_at(0).is_some()) {
            return;
        }
        let message =
            format!("no budget can count what `{}` costs: its price is not known", model.escape_debug());
        let help = "name it under `prices`".to_owned();
        let note = self.source.problem(first.defined, message, Some(help));
        self.notes.push(note);
    }
}
