//! Redacts all text fields of an event.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::event::{Category, Event, EventType};
use foreword_core::id::BadId;

use super::mask::MASK;
use super::{Redacted, Redactor};

impl Redactor {
    /// The event without secrets.
    #[must_use]
    pub fn event(&self, mut event: Event) -> Redacted {
        // Destructure all fields, so that a new field causes a compile error here.
        let Event {
            timestamp: _,
            level: _,
            category,
            session_id,
            agent_id,
            user_id,
            channel,
            event_type,
            duration_ms: _,
            tokens_in: _,
            tokens_out: _,
            cost_usd: _,
            error,
            metadata,
            turn_id,
            trace_id: _,
            span_id: _,
            parent_span_id: _,
            cache_read_tokens: _,
            cache_write_tokens: _,
            prompt_fingerprint: _,
            layer_versions,
        } = &mut event;
        if let Category::Other(word) = category {
            self.word(word);
        }
        if let EventType::Other(word) = event_type {
            self.word(word);
        }
        for shared in [agent_id, user_id, channel].into_iter().flatten() {
            if let Cow::Owned(masked) = self.text(shared) {
                *shared = masked.into();
            }
        }
        if let Some(id) = session_id {
            self.id(id);
        }
        if let Some(id) = turn_id {
            self.id(id);
        }
        if let Some(error) = error
            && let Cow::Owned(masked) = self.text(error)
        {
            *error = masked;
        }
        if let Some(metadata) = metadata {
            self.value(metadata);
        }
        if let Some(versions) = layer_versions {
            self.layer_names(versions);
        }
        Redacted(Arc::new(event))
    }

    fn word(&self, word: &mut Cow<'static, str>) {
        if let Cow::Owned(masked) = self.text(word) {
            *word = Cow::Owned(masked);
        }
    }

    fn id<T: TryFrom<String, Error = BadId> + AsId>(&self, id: &mut T) {
        if let Cow::Owned(masked) = self.text(id.as_id()) {
            // Many short masks may exceed the maximum length of an id.
            if let Ok(masked) = T::try_from(masked).or_else(|_| T::try_from(MASK.to_owned())) {
                *id = masked;
            }
        }
    }

    fn layer_names(&self, versions: &mut Arc<BTreeMap<String, u64>>) {
        if versions.keys().any(|name| matches!(self.text(name), Cow::Owned(_))) {
            let masked = versions.iter().map(|(name, version)| (self.text(name).into_owned(), *version));
            *versions = Arc::new(masked.collect());
        }
    }
}

/// Common interface of the id types.
trait AsId {
    fn as_id(&self) -> &str;
}

impl AsId for foreword_core::id::ConversationId {
    fn as_id(&self) -> &str {
        self.as_str()
    }
}

impl AsId for foreword_core::id::TurnId {
    fn as_id(&self) -> &str {
        self.as_str()
    }
}
