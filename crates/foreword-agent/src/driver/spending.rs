//! What a turn may spend: asked before each call, counted behind it.

use std::sync::Arc;

use foreword_core::allowance::{Notice, Payer, Verdict};
use foreword_core::event::{Event, EventType, Level};
use foreword_core::failure::Failure;
use foreword_core::model::ModelRequest;
use foreword_core::money::Price;
use foreword_core::retry::ErrorCategory;
use foreword_prompt::trust::Trust;
use serde_json::json;

use super::Driver;
use crate::error::AgentError;
use crate::feed::Progress;
use crate::purse::{self, Purse};

impl Driver {
    /// Why a call may not be made; `None` if it may.
    pub(super) async fn over_budget(
        &mut self,
        request: &ModelRequest,
    ) -> Result<Option<Failure>, AgentError> {
        if self.shared.workspace.snapshot().config.budgets.is_empty() {
            return Ok(None);
        }
        let at_least = purse::at_least(self.prepared.facts(), request);
        let agent = Arc::clone(&self.prepared.built.occasion.agent);
        let user = self.prepared.built.occasion.user.clone();
        let session = self.placed.conversation.clone();
        let payer = Payer { user: user.as_deref(), session: session.as_str(), agent: &agent };
        for verdict in Purse::judge(&self.shared, &payer, at_least).await? {
            match verdict {
                Verdict::Fine => {}
                Verdict::Warn(notice) => self.warn_of(&notice).await?,
                Verdict::Stop(notice) => {
                    let now = self.shared.now();
                    self.log.note(purse::event(EventType::BudgetExceeded, &notice, now));
                    let failure = Failure::new(ErrorCategory::Limit, notice.to_owner());
                    return Ok(Some(failure.with_public(notice.to_others())));
                }
            }
        }
        Ok(None)
    }

    /// A warning goes on record once in its period, and the owner sees it with each turn.
    async fn warn_of(&mut self, notice: &Notice) -> Result<(), AgentError> {
        // Only the first call of a turn: what it says does not change from one to the next.
        if self.unnoted.is_none() {
            return Ok(());
        }
        if Purse::is_news(&self.shared, notice).await? {
            self.log.note(purse::event(EventType::BudgetWarning, notice, self.shared.now()));
        }
        if self.drafts.trust.permits(Trust::Full) {
            let words = notice.to_owner();
            let mut letters = words.chars();
            let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
            self.feed.tell(Progress::Status(format!("{first}{}.", letters.as_str())));
        }
        Ok(())
    }

    /// Counts what a call has cost. Only once it is in the log.
    pub(super) fn pay(&self, price: Price) {
        let occasion = &self.prepared.built.occasion;
        let session = self.placed.conversation.as_str();
        let payer = Payer { user: occasion.user.as_deref(), session, agent: &occasion.agent };
        self.shared.purse.pay(&payer, price);
    }

    /// Puts on record what a call took that nobody waits for any more: it is paid for all the same.
    pub(super) fn note_unfinished(&mut self, why: &str) {
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
        self.pay(price);
    }
}
