//! An item of a stream that is on record, as it goes over the wire.

use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use serde_json::Value;

/// What is put before every item of a conversation. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Heading(Arc<str>);

impl Heading {
    pub(super) fn of(conversation: &ConversationId) -> Self {
        Self(Value::from(conversation.as_str()).to_string().into())
    }

    /// The item of that number, whose own fields are `item`.
    pub(super) fn show(&self, seq: u64, trust: Trust, item: &str) -> Shown {
        // What stands in the record is an object with a type.
        let fields = item.strip_prefix('{').unwrap_or("}");
        Shown { seq, trust, text: format!("{{\"sessionId\":{},\"seq\":{seq},{fields}", self.0).into() }
    }

    /// The same of something that is not on record.
    pub(super) fn show_unnumbered(&self, item: &str) -> String {
        let fields = item.strip_prefix('{').unwrap_or("}");
        format!("{{\"sessionId\":{},{fields}", self.0)
    }
}

/// An item of a stream that is on record. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) seq: u64,
    pub(super) trust: Trust,
    /// All of it, as JSON.
    pub(super) text: Arc<str>,
}
