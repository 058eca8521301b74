//! Checks the budgets before each model call, and counts its cost afterwards.

use foreword_core::budget_rule::BudgetNotice;
use foreword_core::event::{Event, EventType, Level};
use foreword_core::failure::Failure;
use foreword_core::model::ModelRequest;
use foreword_core::money::Price;
use foreword_core::retry::ErrorCategory;
use foreword_prompt::trust::Trust;
use serde_json::json;

use super::Driver;
use crate::conversation::feed::Progress;
use crate::error::AgentError;
use crate::spending::{self, CostSource, PlannedCall, SpendingDecision};

impl Driver {
    /// Checks the budgets before a call. Returns the failure if one is exceeded.
    pub(super) async fn check_budget(
        &mut self,
        request: &ModelRequest,
    ) -> Result<Option<Failure>, AgentError> {
        let call = PlannedCall {
            payer: self.prepared.payer(&self.scope),
            at_least: spending::at_least(self.prepared.facts(), request),
            is_urgent: false,
        };
        let log = &mut self.log;
        match self.shared.spending.decide(call, |event| log.note(event)).await? {
            SpendingDecision::Allowed(warnings) => {
                // Warn only before the first call of a turn.
                if self.unrecorded_start.is_some() && self.drafts.trust.permits(Trust::Full) {
                    warnings.iter().for_each(|notice| self.show_warning(notice));
                }
                Ok(None)
            }
            SpendingDecision::Refused(notice) => {
                let failure = Failure::new(ErrorCategory::Limit, notice.to_owner());
                Ok(Some(failure.with_public(notice.to_others())))
            }
        }
    }

    fn show_warning(&self, notice: &BudgetNotice) {
        let text = notice.to_owner();
        let mut letters = text.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        self.feed.publish(Progress::Status(format!("{first}{}.", letters.as_str())));
    }

    /// Counts the cost of a call. Call it after the event is queued.
    pub(super) fn add_cost(&self, price: Price) {
        self.shared.spending.record(&self.prepared.payer(&self.scope), price, CostSource::Logged);
    }

    /// Logs and counts the usage of an aborted call.
    pub(super) fn log_unfinished(&mut self, why: &str) {
        let Some((usage, price)) = self.unfinished.take() else { return };
        let model = &self.prepared.model;
        self.log.note(Event {
            level: Level::Info,
            tokens_in: Some(usage.input + usage.cache_read + usage.cache_write),
            tokens_out: Some(usage.output),
            cache_read_tokens: Some(usage.cache_read),
            cache_write_tokens: Some(usage.cache_write),
            cost_usd: price.known().map(|cost| cost.dollars()),
            error: Some(why.to_owned()),
            metadata: Some(json!({ "model": model.as_str(), "provider": model.provider() })),
            ..Event::new(EventType::ApiError, self.shared.now())
        });
        self.add_cost(price);
    }
}
