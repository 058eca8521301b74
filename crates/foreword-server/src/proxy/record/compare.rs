//! Compares a request that was answered with the one before it in its conversation, and if it is the first, with the last one
//! of whoever pays, as far as both can share a prefix: tools and the system prompt.

use foreword_agent::cache_miss::{self, reported};
use foreword_core::cache::{
    CacheRules, Cause, Diagnosis, Evidence, Known, Previous, RequestShape, Seen, diagnose,
};
use foreword_core::models::{Breakpoints, ModelFacts, ModelId};
use foreword_store::error::StoreError;
use foreword_store::store::Store;

use super::shape::Request;
use super::shapes::Last;
use crate::proxy::exchange::Exchange;
use foreword_core::id::ConversationId;

/// What a request is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Before<'a> {
    /// The request before it in its conversation.
    Here(&'a Last),
    /// The last one of another conversation of the same payer's with the same model.
    Elsewhere(&'a Last),
    /// There is none.
    Nothing,
}

/// A request that was answered, with all there is to go by.
pub(super) struct Answered<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) request: &'a Request<'a>,
    pub(super) conversation: &'a ConversationId,
    pub(super) model: &'a str,
    pub(super) facts: Option<&'a ModelFacts>,
    pub(super) shape: &'a RequestShape,
}

impl Answered<'_> {
    /// Why it read less than it could have, if the provider said what it took.
    pub(super) async fn judge(
        &self,
        store: &Store,
        before: Before<'_>,
    ) -> Result<Option<Diagnosis>, StoreError> {
        let Some(usage) = self.exchange.tapped.usage else { return Ok(None) };
        let rules = match self.model.parse::<ModelId>() {
            Ok(id) => CacheRules::of(&id, self.facts),
            Err(_) => CacheRules::ORDER_ALONE,
        };
        let shared;
        let previous = match before {
            Before::Here(last) => {
                Seen { shape: &last.shape, at: last.at, reported: last.usage.map(reported) }
            }
            // Of the whole it is known what was cached; of this part it is not.
            Before::Elsewhere(last) => {
                shared = last.shape.before_messages();
                Seen { shape: &shared, at: last.at, reported: None }
            }
            Before::Nothing => return Ok(None),
        };
        let cached = rules.breakpoints != Breakpoints::Explicit || previous.shape.is_marked();
        if matches!(before, Before::Elsewhere(_)) && !cached {
            return Ok(None);
        }
        let known = self.known(store, before).await?;
        let diagnosis = diagnose(&Evidence {
            previous: Previous::Seen(previous),
            current: self.shape,
            at: self.exchange.began,
            last_touch: None,
            facts: self.facts,
            rules,
            reported: reported(usage),
            provider_reason: self.exchange.tapped.miss.as_deref(),
            known: &known,
            peek: Some(&|section, range| self.request.peek(section, range)),
        });
        let diagnosis = cache_miss::fit_for_this_trust(diagnosis);
        // Two programs of one payer's have two prompts. Only what changes by itself is worth a word between conversations.
        let by_itself =
            matches!(diagnosis.cause, Some(Cause::Clock | Cause::RandomId(_) | Cause::ToolsReordered));
        if matches!(before, Before::Elsewhere(_)) && !by_itself {
            return Ok(None);
        }
        let place = diagnosis.place.map(|place| self.request.in_the_text(place));
        Ok(Some(Diagnosis { place, ..diagnosis }))
    }

    /// What our own side knows, where the prompt was ours.
    async fn known(&self, store: &Store, before: Before<'_>) -> Result<Known, StoreError> {
        let (Some(number), Before::Here(last)) = (self.exchange.epoch, before) else {
            return Ok(Known::default());
        };
        if last.epoch == Some(number) {
            return Ok(Known::default());
        }
        match store.epoch_number(self.conversation, number).await {
            Ok(epoch) => {
                let now = (number, &epoch.info.reason, &epoch.prompt);
                cache_miss::known(store, self.conversation, last.epoch, now).await
            }
            Err(StoreError::NotFound { .. }) => Ok(Known::default()),
            Err(error) => Err(error),
        }
    }
}
