//! Converts events to rows and back. Every event can be stored.

use std::sync::Arc;

use foreword_core::event::{Event, StoredEvent};
use foreword_core::zero_byte::{json_without_zero_bytes, without_zero_bytes};
use serde::de::DeserializeOwned;

use crate::engine::{Row, Value};
use crate::error::StoreError;

/// The statement for the values of [`to_values`].
pub(super) const INSERT: &str = "INSERT INTO events (timestamp, level, category, session_id, agent_id, user_id, channel, \
     event_type, duration_ms, tokens_in, tokens_out, cost_usd, error, metadata, turn_id, trace_id, span_id, \
     parent_span_id, cache_read_tokens, cache_write_tokens, prompt_fingerprint, layer_versions, model)";

/// The columns that [`stored_event`] reads, in order.
macro_rules! columns {
    () => {
        "id, timestamp, level, category, session_id, agent_id, user_id, channel, event_type, duration_ms, tokens_in, \
         tokens_out, cost_usd, error, metadata, turn_id, trace_id, span_id, parent_span_id, cache_read_tokens, \
         cache_write_tokens, prompt_fingerprint, layer_versions"
    };
}
pub(super) use columns;

/// The column values of an event.
pub(super) fn to_values(event: &Event) -> Vec<Value> {
    let text = |text: Option<&str>| Value::from(text.map(|text| without_zero_bytes(text).into_owned()));
    let hex = |id: Option<String>| Value::from(id);
    let versions = event.layer_versions.as_ref().and_then(|versions| serde_json::to_string(versions).ok());
    vec![
        event.timestamp.into(),
        event.level.as_str().into(),
        text(Some(event.category.as_str())),
        event.session_id.as_ref().into(),
        text(event.agent_id.as_deref()),
        text(event.user_id.as_deref()),
        text(event.channel.as_deref()),
        text(Some(event.event_type.as_str())),
        event.duration_ms.into(),
        event.tokens_in.into(),
        event.tokens_out.into(),
        // The engines store NaN and infinity differently.
        event.cost_usd.filter(|cost| cost.is_finite()).into(),
        text(event.error.as_deref()),
        event.metadata.as_ref().map(metadata).into(),
        event.turn_id.as_ref().into(),
        hex(event.trace_id.map(|id| id.to_string())),
        hex(event.span_id.map(|id| id.to_string())),
        hex(event.parent_span_id.map(|id| id.to_string())),
        event.cache_read_tokens.into(),
        event.cache_write_tokens.into(),
        event.prompt_fingerprint.into(),
        text(versions.as_deref()),
        text(event.metadata.as_ref().and_then(|metadata| metadata.get("model")?.as_str())),
    ]
}

fn metadata(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if text.contains("\\u0000") { json_without_zero_bytes(value.clone()).to_string() } else { text }
}

/// Reads an event from a row of [`columns`].
pub(super) fn stored_event(row: &Row) -> Result<StoredEvent, StoreError> {
    let event = Event {
        timestamp: row.parse(1)?,
        level: row.parse(2)?,
        category: row.parse(3)?,
        session_id: row.parse_optional(4)?,
        agent_id: shared(row, 5)?,
        user_id: shared(row, 6)?,
        channel: shared(row, 7)?,
        event_type: row.parse(8)?,
        duration_ms: row.get(9)?,
        tokens_in: row.get(10)?,
        tokens_out: row.get(11)?,
        cost_usd: row.get(12)?,
        error: row.get(13)?,
        metadata: json(row, 14)?,
        turn_id: row.parse_optional(15)?,
        trace_id: row.parse_optional(16)?,
        span_id: row.parse_optional(17)?,
        parent_span_id: row.parse_optional(18)?,
        cache_read_tokens: row.get(19)?,
        cache_write_tokens: row.get(20)?,
        prompt_fingerprint: row.parse_optional(21)?,
        layer_versions: json(row, 22)?.map(Arc::new),
    };
    Ok(StoredEvent { id: row.get(0)?, event })
}

fn shared(row: &Row, column: usize) -> Result<Option<Arc<str>>, StoreError> {
    Ok(row.get::<Option<String>>(column)?.map(Arc::from))
}

fn json<T: DeserializeOwned>(row: &Row, column: usize) -> Result<Option<T>, StoreError> {
    match row.get::<Option<String>>(column)? {
        Some(_) => row.json(column).map(Some),
        None => Ok(None),
    }
}
