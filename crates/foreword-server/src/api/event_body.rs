//! The JSON of an event, the same as `foreword --json logs` writes.

use std::collections::BTreeMap;

use foreword_agent::reports::viewer::Viewer;
use foreword_core::event::{Event, StoredEvent};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::utc_time::UtcTime;

/// An event. Unknown fields are absent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Event)]
pub(crate) struct EventBody {
    /// Its number, in the order of storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// When it happened.
    timestamp: UtcTime,
    /// `debug`, `info`, `warn` or `error`.
    #[schema(example = "info")]
    level: &'static str,
    /// The part of the program.
    #[schema(example = "provider")]
    category: String,
    /// The conversation, which may have been deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// The channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    /// The type of the event.
    #[schema(example = "api_call")]
    event_type: String,
    /// Duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// Input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_in: Option<u64>,
    /// Output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_out: Option<u64>,
    /// Cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Further data of this type of event.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    /// The turn it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    /// The trace it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    /// The span's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
    /// The id of the parent span.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    /// Tokens read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_read_tokens: Option<u64>,
    /// Tokens written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_tokens: Option<u64>,
    /// The hash of the frozen prompt that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_fingerprint: Option<String>,
    /// The versions of its layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    layer_versions: Option<BTreeMap<String, u64>>,
}

impl EventBody {
    /// A stored event as `viewer` may read it.
    pub(super) fn stored(StoredEvent { id, event }: StoredEvent, viewer: &Viewer) -> Self {
        Self { id: Some(id), ..Self::new(event, viewer) }
    }

    /// An event as `viewer` may read it. The only way to serialise one.
    pub(super) fn new(event: Event, viewer: &Viewer) -> Self {
        let event = viewer.visible_form(event);
        Self {
            id: None,
            timestamp: event.timestamp.into(),
            level: event.level.as_str(),
            category: event.category.into(),
            session_id: event.session_id.map(Into::into),
            agent_id: event.agent_id.as_deref().map(str::to_owned),
            user_id: event.user_id.as_deref().map(str::to_owned),
            channel: event.channel.as_deref().map(str::to_owned),
            event_type: event.event_type.into(),
            duration_ms: event.duration_ms,
            tokens_in: event.tokens_in,
            tokens_out: event.tokens_out,
            cost_usd: event.cost_usd,
            error: event.error,
            metadata: event.metadata,
            turn_id: event.turn_id.map(Into::into),
            trace_id: event.trace_id.map(|id| id.to_string()),
            span_id: event.span_id.map(|id| id.to_string()),
            parent_span_id: event.parent_span_id.map(|id| id.to_string()),
            cache_read_tokens: event.cache_read_tokens,
            cache_write_tokens: event.cache_write_tokens,
            prompt_fingerprint: event.prompt_fingerprint.map(|hash| hash.to_string()),
            layer_versions: event.layer_versions.map(|versions| (*versions).clone()),
        }
    }
}
