//! Formats an event as a log line.

use foreword_core::event::Event;
use foreword_core::timestamp::Timestamp;
use serde_json::{Map, Value, json};

use super::object::{MAX_LINE_LEN, MAX_PAYLOAD_LEN, line_up_to};
use crate::redact::Redacted;

/// The event as one line of JSON, with its line end.
///
/// ```
/// # use foreword_core::event::{Event, EventType};
/// # use foreword_observe::{lines::line_of, redact::{RedactionRules, Redactor}};
/// # let redactor = Redactor::new(&RedactionRules::default(), [0; 16]).unwrap();
/// let at = "2026-11-16T02:47:00Z".parse().unwrap();
/// let ended = Event { tokens_in: Some(1_500), tokens_out: Some(320), ..Event::new(EventType::TurnCompleted, at) };
/// assert_eq!(
///     line_of(&redactor.event(ended)),
///     "{\"ts\":\"2026-11-16T02:47:00.000Z\",\"level\":\"info\",\"module\":\"agent\",\"event\":\"turn_end\",\
///      \"inputTokens\":1500,\"outputTokens\":320,\"totalTokens\":1820}\n"
/// );
/// ```
#[must_use]
pub fn line_of(event: &Redacted) -> String {
    line_within(event, MAX_LINE_LEN)
}

/// The same for a payload, with a larger limit.
pub(super) fn line_of_payload(event: &Redacted) -> String {
    line_within(event, MAX_PAYLOAD_LEN)
}

fn line_within(event: &Redacted, longest: usize) -> String {
    let event = event.event();
    match &event.metadata {
        Some(Value::Object(own)) => line_up_to(&fields(event), own, longest),
        Some(Value::Null) | None => line_up_to(&fields(event), &Map::new(), longest),
        Some(other) => {
            line_up_to(&fields(event), &Map::from_iter([("metadata".to_owned(), other.clone())]), longest)
        }
    }
}

/// A timestamp in the log's format: UTC, with milliseconds.
pub(super) fn shown_time(at: Timestamp) -> Value {
    Value::from(format!("{:.3}", jiff::Timestamp::from(at)))
}

fn fields(event: &Event) -> Vec<(&'static str, Value)> {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let total = (event.tokens_in.is_some() || event.tokens_out.is_some())
        .then(|| event.tokens_in.unwrap_or(0).saturating_add(event.tokens_out.unwrap_or(0)));
    let all = [
        ("ts", shown_time(event.timestamp)),
        ("level", Value::from(event.level.as_str())),
        ("module", Value::from(event.category.as_str())),
        ("event", Value::from(event.event_type.line_name())),
        ("sessionId", text(event.session_id.as_ref().map(|id| id.as_str()))),
        ("userId", text(event.user_id.as_deref())),
        ("agentId", text(event.agent_id.as_deref())),
        ("channel", text(event.channel.as_deref())),
        ("turnId", text(event.turn_id.as_ref().map(|id| id.as_str()))),
        ("traceId", json!(event.trace_id)),
        ("spanId", json!(event.span_id)),
        ("parentSpanId", json!(event.parent_span_id)),
        ("durationMs", json!(event.duration_ms)),
        ("inputTokens", json!(event.tokens_in)),
        ("outputTokens", json!(event.tokens_out)),
        ("totalTokens", json!(total)),
        ("cacheReadTokens", json!(event.cache_read_tokens)),
        ("cacheWriteTokens", json!(event.cache_write_tokens)),
        ("costUsd", json!(event.cost_usd)),
        ("error", text(event.error.as_deref())),
        ("promptFingerprint", json!(event.prompt_fingerprint)),
        ("layerVersions", json!(event.layer_versions)),
    ];
    all.into_iter().filter(|(_, value)| !value.is_null()).collect()
}
