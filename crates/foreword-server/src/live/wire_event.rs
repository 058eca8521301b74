//! A stored event in its wire format.

use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use serde_json::Value;

/// The prefix of all events of a conversation. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Heading(Arc<str>);

impl Heading {
    pub(super) fn of(conversation: &ConversationId) -> Self {
        Self(Value::from(conversation.as_str()).to_string().into())
    }

    /// Encodes an event with its number.
    pub(super) fn encode(&self, seq: u64, trust: Trust, item: &str) -> WireEvent {
        // A stored event is a JSON object.
        let fields = item.strip_prefix('{').unwrap_or("}");
        WireEvent { seq, trust, text: format!("{{\"sessionId\":{},\"seq\":{seq},{fields}", self.0).into() }
    }

    /// Encodes an event without a number.
    pub(super) fn encode_unnumbered(&self, item: &str) -> String {
        let fields = item.strip_prefix('{').unwrap_or("}");
        format!("{{\"sessionId\":{},{fields}", self.0)
    }
}

/// A stored event in its wire format. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WireEvent {
    pub(super) seq: u64,
    pub(super) trust: Trust,
    /// The JSON.
    pub(super) text: Arc<str>,
}
