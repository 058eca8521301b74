//! Events as they are stored, exported and shown.

mod names;
mod trace;

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::text::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{ConversationId, TurnId};
use crate::timestamp::Timestamp;

pub use names::{Category, EventType, Level};
pub use trace::{BadTraceId, SpanId, TraceId};

/// An event. The fields are named and ordered like the database columns.
///
/// In JSON, unknown fields are omitted and the metadata is an embedded JSON value.
///
/// ```
/// use foreword_core::event::{Event, EventType};
/// let at = "2026-11-16T02:47:00Z".parse().unwrap();
/// let call = Event { tokens_in: Some(5_200), cost_usd: Some(0.12), ..Event::new(EventType::ApiCall, at) };
/// assert_eq!(
///     serde_json::to_string(&call).unwrap(),
///     r#"{"timestamp":"2026-11-16T02:47:00.000000Z","level":"info","category":"provider","event_type":"api_call","tokens_in":5200,"cost_usd":0.12}"#
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it happened.
    pub timestamp: Timestamp,
    /// The severity.
    pub level: Level,
    /// The subsystem.
    pub category: Category,
    /// The conversation. Events outlive their conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<ConversationId>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Arc<str>>,
    /// The user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<Arc<str>>,
    /// The channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Arc<str>>,
    /// The type of the event.
    pub event_type: EventType,
    /// The duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// The cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Additional data of this event type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<SpanId>,
    /// The parent span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<SpanId>,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The fingerprint of the frozen prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_fingerprint: Option<ContentHash>,
    /// The versions of the prompt's layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer_versions: Option<Arc<BTreeMap<String, u64>>>,
}

impl Event {
    /// An event with the default level and category of its type and no other fields.
    #[must_use]
    pub fn new(event_type: EventType, timestamp: Timestamp) -> Self {
        Self {
            timestamp,
            level: event_type.level(),
            category: event_type.category(),
            session_id: None,
            agent_id: None,
            user_id: None,
            channel: None,
            event_type,
            duration_ms: None,
            tokens_in: None,
            tokens_out: None,
            cost_usd: None,
            error: None,
            metadata: None,
            turn_id: None,
            trace_id: None,
            span_id: None,
            parent_span_id: None,
            cache_read_tokens: None,
            cache_write_tokens: None,
            prompt_fingerprint: None,
            layer_versions: None,
        }
    }
}

/// The metadata keys of warnings and errors that every reader may see: codes, counts and tool names.
const PUBLIC_METADATA: [&str; 14] = [
    "call",
    "code",
    "delayMs",
    "delivery",
    "for",
    "isError",
    "kind",
    "model",
    "outcome",
    "queued",
    "retryAttempt",
    "run",
    "tool",
    "toolCallCount",
];

impl Event {
    /// The event with error details removed, for readers below the owner's trust. Errors are reduced to a code, since
    /// messages name files, addresses and variables. Idempotent.
    ///
    /// ```
    /// use foreword_core::event::{Event, EventType};
    /// let failed = Event {
    ///     error: Some("http://10.0.0.1:8080 refused".to_owned()),
    ///     metadata: Some(serde_json::json!({ "kind": "network", "provider": "home" })),
    ///     ..Event::new(EventType::ApiError, "2026-11-16T02:47:00Z".parse().unwrap())
    /// };
    /// let shown = failed.below_owner();
    /// assert_eq!(shown.error.as_deref(), Some("network"));
    /// assert_eq!(shown.metadata, Some(serde_json::json!({ "kind": "network" })));
    /// ```
    #[must_use]
    pub fn below_owner(mut self) -> Self {
        if self.error.is_none() && self.level <= Level::Info {
            return self;
        }
        if let Some(Value::Object(metadata)) = &mut self.metadata {
            metadata.retain(|key, _| PUBLIC_METADATA.contains(&key.as_str()));
        }
        let word = |key: &str| self.metadata.as_ref()?.get(key)?.as_str();
        let code = word("code").or_else(|| word("kind")).unwrap_or(self.event_type.as_str()).to_owned();
        self.error = self.error.map(|_| code);
        self
    }
}

/// An event with its sequence number, which is the JSON key `id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEvent {
    /// The sequence number; it increases in the order of writing, whatever the clock says.
    pub id: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_json_round_trips() {
        let at = "2026-11-16T02:47:00Z".parse().unwrap();
        let event = Event {
            session_id: Some(ConversationId::new("c-1").unwrap()),
            user_id: Some("alice".into()),
            metadata: Some(serde_json::json!({"model": "offline/echo", "status": 429})),
            trace_id: TraceId::new(7),
            prompt_fingerprint: Some(ContentHash::of("frozen")),
            layer_versions: Some(Arc::new(BTreeMap::from([("6".to_owned(), 3)]))),
            ..Event::new(EventType::ApiError, at)
        };
        let stored = StoredEvent { id: 12, event };
        let json = serde_json::to_string(&stored).unwrap();
        assert!(
            json.starts_with(r#"{"id":12,"timestamp":"2026-11-16T02:47:00.000000Z","level":"error","#),
            "{json}"
        );
        assert!(json.contains(r#""metadata":{"model":"offline/echo","status":429}"#), "{json}");
        assert_eq!(serde_json::from_str::<StoredEvent>(&json).unwrap(), stored);
    }
}
