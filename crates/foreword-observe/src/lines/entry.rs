//! Formats an event as a log line.

use foreword_core::event::Event;
use foreword_core::timestamp::Timestamp;
use serde_json::{Map, Value, json};

use super::direct::DirectLine;
use super::object::{MAX_LINE_LEN, MAX_PAYLOAD_LEN, is_reserved, line_up_to};
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
    let no_fields = Map::new();
    let other;
    let own = match &event.metadata {
        Some(Value::Object(own)) => own,
        Some(Value::Null) | None => &no_fields,
        Some(value) => {
            other = Map::from_iter([("metadata".to_owned(), value.clone())]);
            &other
        }
    };
    // Most events: formatted without intermediate values.
    if let Some(line) = direct_line(event, own).filter(|line| line.len() <= longest) {
        return line;
    }
    line_up_to(&fields(event), own, longest)
}

/// The line, unless an own field has the name of another one.
fn direct_line(event: &Event, own: &Map<String, Value>) -> Option<String> {
    if own.keys().any(|name| is_reserved(name)) {
        return None;
    }
    let mut line = DirectLine::new();
    line.field("ts", Some(time_text(event.timestamp)));
    line.field("level", Some(event.level.as_str()));
    line.field("module", Some(event.category.as_str()));
    line.field("event", Some(event.event_type.line_name()));
    line.field("sessionId", event.session_id.as_ref().map(|id| id.as_str()));
    line.field("userId", event.user_id.as_deref());
    line.field("agentId", event.agent_id.as_deref());
    line.field("channel", event.channel.as_deref());
    line.field("turnId", event.turn_id.as_ref().map(|id| id.as_str()));
    line.field("traceId", event.trace_id);
    line.field("spanId", event.span_id);
    line.field("parentSpanId", event.parent_span_id);
    line.field("durationMs", event.duration_ms);
    line.field("inputTokens", event.tokens_in);
    line.field("outputTokens", event.tokens_out);
    line.field("totalTokens", total_tokens(event));
    line.field("cacheReadTokens", event.cache_read_tokens);
    line.field("cacheWriteTokens", event.cache_write_tokens);
    line.field("costUsd", event.cost_usd.filter(|cost| cost.is_finite()));
    line.field("error", event.error.as_deref());
    line.field("promptFingerprint", event.prompt_fingerprint);
    line.field("layerVersions", event.layer_versions.as_deref());
    for (name, value) in own.iter().filter(|(_, value)| !value.is_null()) {
        line.own_field(name, value);
    }
    line.finish()
}

fn total_tokens(event: &Event) -> Option<u64> {
    let is_known = event.tokens_in.is_some() || event.tokens_out.is_some();
    is_known.then(|| event.tokens_in.unwrap_or(0).saturating_add(event.tokens_out.unwrap_or(0)))
}

/// A timestamp in the log's format: UTC, with milliseconds.
pub(super) fn shown_time(at: Timestamp) -> Value {
    Value::from(time_text(at))
}

fn time_text(at: Timestamp) -> String {
    format!("{:.3}", jiff::Timestamp::from(at))
}

/// The same fields as values, for lines that have to be cut or whose fields have to be renamed.
fn fields(event: &Event) -> Vec<(&'static str, Value)> {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
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
        ("totalTokens", json!(total_tokens(event))),
        ("cacheReadTokens", json!(event.cache_read_tokens)),
        ("cacheWriteTokens", json!(event.cache_write_tokens)),
        ("costUsd", json!(event.cost_usd)),
        ("error", text(event.error.as_deref())),
        ("promptFingerprint", json!(event.prompt_fingerprint)),
        ("layerVersions", json!(event.layer_versions)),
    ];
    all.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

#[cfg(test)]
mod tests {
    use foreword_core::event::{EventType, TraceId};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn direct_line_equals_the_line_from_values(
            own in proptest::collection::btree_map("[a-z\"\n\u{e9}]{0,6}|error", ".{0,8}", 0..5),
            user in proptest::option::of(".{0,6}"),
            tokens in proptest::option::of(any::<u64>()),
            cost in proptest::option::of(any::<f64>()),
        ) {
            let event = Event {
                user_id: user.as_deref().map(Into::into),
                tokens_in: tokens,
                tokens_out: tokens,
                cost_usd: cost,
                error: user,
                trace_id: TraceId::named_at("a", Timestamp::from_micros(5)),
                ..Event::new(EventType::ApiCall, Timestamp::from_micros(1_763_000_000_123_456))
            };
            let own: Map<String, Value> = own.into_iter().map(|(name, text)| (name, Value::from(text))).collect();
            let expected = line_up_to(&fields(&event), &own, MAX_LINE_LEN);
            match direct_line(&event, &own) {
                Some(line) => prop_assert_eq!(line, expected),
                None => prop_assert!(own.contains_key("error")),
            }
        }
    }
}
