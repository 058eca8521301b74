//! Diagnoses cache misses: compares an answered request with the previous one of its conversation. The first request of
//! a conversation is compared with the payer's last one, as far as they can share a prefix: tools and system prompt.

use foreword_agent::turn::cache_miss_event::{self, reported};
use foreword_core::cache::{
    CacheRules, Cause, Diagnosis, Evidence, KnownChanges, Previous, PreviousRequest, RequestShape, diagnose,
};
use foreword_core::models::{Breakpoints, ModelFacts, ModelId};
use foreword_store::error::StoreError;
use foreword_store::store::Store;

use super::shape::ParsedRequest;
use super::shapes::LastShape;
use crate::proxy::exchange::Exchange;
use foreword_core::id::ConversationId;

/// The request to compare with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Baseline<'a> {
    /// The previous request of the conversation.
    SameConversation(&'a LastShape),
    /// The last request to the model in another conversation of the payer.
    OtherConversation(&'a LastShape),
    None,
}

/// An answered request with the data for a diagnosis.
pub(super) struct AnsweredRequest<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) request: &'a ParsedRequest<'a>,
    pub(super) conversation: &'a ConversationId,
    pub(super) model: &'a str,
    pub(super) facts: Option<&'a ModelFacts>,
    pub(super) shape: &'a RequestShape,
}

impl AnsweredRequest<'_> {
    /// Why the request read less from the cache than it could have, if the provider reported usage.
    pub(super) async fn diagnose(
        &self,
        store: &Store,
        before: Baseline<'_>,
    ) -> Result<Option<Diagnosis>, StoreError> {
        let Some(usage) = self.exchange.summary.usage else { return Ok(None) };
        let rules = match self.model.parse::<ModelId>() {
            Ok(id) => CacheRules::of(&id, self.facts),
            Err(_) => CacheRules::UNKNOWN_PROVIDER,
        };
        let shared;
        let previous = match before {
            Baseline::SameConversation(last) => {
                PreviousRequest { shape: &last.shape, at: last.at, reported: last.usage.map(reported) }
            }
            // The provider reports cached tokens for the whole request, not for this part.
            Baseline::OtherConversation(last) => {
                shared = last.shape.before_messages();
                PreviousRequest { shape: &shared, at: last.at, reported: None }
            }
            Baseline::None => return Ok(None),
        };
        let cached = rules.breakpoints != Breakpoints::Explicit || previous.shape.is_marked();
        if matches!(before, Baseline::OtherConversation(_)) && !cached {
            return Ok(None);
        }
        let known = self.known_changes(store, before).await?;
        let diagnosis = diagnose(&Evidence {
            previous: Previous::Seen(previous),
            current: self.shape,
            at: self.exchange.began,
            last_touch: None,
            facts: self.facts,
            rules,
            reported: reported(usage),
            provider_reason: self.exchange.summary.miss.as_deref(),
            known: &known,
            peek: Some(&|section, range| self.request.peek(section, range)),
        });
        let diagnosis = cache_miss_event::redact_other_trust(diagnosis);
        // Two programs of one payer have different prompts. Between conversations only changes without a cause on the
        // client's side are reported.
        let changes_by_itself =
            matches!(diagnosis.cause, Some(Cause::Clock | Cause::RandomId(_) | Cause::ToolsReordered));
        if matches!(before, Baseline::OtherConversation(_)) && !changes_by_itself {
            return Ok(None);
        }
        let place = diagnosis.place.map(|place| self.request.in_unescaped_text(place));
        Ok(Some(Diagnosis { place, ..diagnosis }))
    }

    /// KnownChanges changes of the injected prompt.
    async fn known_changes(&self, store: &Store, before: Baseline<'_>) -> Result<KnownChanges, StoreError> {
        let (Some(number), Baseline::SameConversation(last)) = (self.exchange.epoch, before) else {
            return Ok(KnownChanges::default());
        };
        if last.epoch == Some(number) {
            return Ok(KnownChanges::default());
        }
        match store.epoch_number(self.conversation, number).await {
            Ok(epoch) => {
                let (reason, prompt) = (&epoch.info.reason, &epoch.prompt);
                cache_miss_event::known_changes(store, self.conversation, last.epoch, number, reason, prompt)
                    .await
            }
            Err(StoreError::NotFound { .. }) => Ok(KnownChanges::default()),
            Err(error) => Err(error),
        }
    }
}
