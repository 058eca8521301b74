//! Sample events of turns: eight per turn, most with tokens or a duration, all with about 200 bytes of metadata.
//! Deterministic.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType, SpanId, TraceId};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::ContentHash;
use serde_json::json;
use tokio_postgres::types::ToSql;

use super::Found;

/// The peer's statement, with the store's columns.
pub(crate) const INSERT: &str = "INSERT INTO events (timestamp, level, category, session_id, agent_id, user_id, channel,
     event_type, duration_ms, tokens_in, tokens_out, cost_usd, error, metadata, turn_id, trace_id, span_id,
     parent_span_id, cache_read_tokens, cache_write_tokens, prompt_fingerprint, layer_versions)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";

/// What happens in a turn.
const TURN: [EventType; 8] = [
    EventType::MessageReceived,
    EventType::TurnStarted,
    EventType::PromptBuilt,
    EventType::ApiCall,
    EventType::ToolCall,
    EventType::ApiCall,
    EventType::TurnCompleted,
    EventType::MessageSent,
];
/// The number of interleaved conversations.
const CONVERSATIONS: u64 = 500;
/// One in this many turns has a failed call.
const FAILING: u64 = 50;
/// The time between two events.
const STEP: Duration = Duration::from_millis(20);

/// Consecutive events from number `first`; number 0 happens at `from`.
pub(crate) fn events(first: u64, count: usize, from: Timestamp) -> Found<Vec<Event>> {
    let numbers = (first..).take(count);
    numbers.map(|number| event(number, from.plus(STEP.saturating_mul(number as u32)))).collect()
}

fn event(number: u64, at: Timestamp) -> Found<Event> {
    let turn = number / TURN.len() as u64;
    let mut event_type = TURN[(number % TURN.len() as u64) as usize].clone();
    if event_type == EventType::ToolCall && turn.is_multiple_of(FAILING) {
        event_type = EventType::ToolError;
    }
    let called = event_type == EventType::ApiCall;
    let conversation = turn % CONVERSATIONS;
    let tokens = |least: u64, spread: u64| called.then_some(least + number % spread);
    Ok(Event {
        session_id: Some(ConversationId::new(format!("signal:+1555{conversation:07}"))?),
        agent_id: Some(Arc::from("Assistant")),
        user_id: Some(Arc::from(["alice", "bob", "carol"][(conversation % 3) as usize])),
        channel: Some(Arc::from("signal")),
        duration_ms: Some(3 + number % 4_000),
        tokens_in: tokens(900, 5_000),
        tokens_out: tokens(40, 700),
        cost_usd: called.then_some(0.0131),
        error: (event_type == EventType::ToolError).then(|| "no such file".to_owned()),
        metadata: Some(json!({
            "model": "claude-sonnet-4-5", "attempt": 1, "status": 200, "stop_reason": "end_turn",
            "request_id": format!("req_{:032x}", u128::from(number) << 40),
            "node": "node-1", "region": "eu-west-1", "streamed": true, "first_byte_ms": number % 900,
        })),
        turn_id: Some(TurnId::new(format!("turn-{turn:020x}"))?),
        trace_id: TraceId::new((u128::from(turn) << 64) + 1),
        span_id: SpanId::new(number + 1),
        parent_span_id: SpanId::new(turn + 1),
        cache_read_tokens: tokens(20_000, 9_000),
        cache_write_tokens: tokens(100, 900),
        prompt_fingerprint: called.then(|| ContentHash::of("frozen")),
        ..Event::new(event_type, at)
    })
}

/// An event as the peer writes it, created before the measurement.
pub(crate) struct EventRow {
    timestamp: String,
    level: &'static str,
    category: String,
    session_id: Option<String>,
    agent_id: Option<String>,
    user_id: Option<String>,
    channel: Option<String>,
    event_type: String,
    duration_ms: Option<i64>,
    tokens_in: Option<i64>,
    tokens_out: Option<i64>,
    cost_usd: Option<f64>,
    error: Option<String>,
    metadata: Option<String>,
    turn_id: Option<String>,
    trace_id: Option<String>,
    span_id: Option<String>,
    parent_span_id: Option<String>,
    cache_read_tokens: Option<i64>,
    cache_write_tokens: Option<i64>,
    prompt_fingerprint: Option<String>,
    layer_versions: Option<String>,
}

/// The values of [`INSERT`], in order, for either library.
macro_rules! values {
    ($row:expr) => {
        [
            &$row.timestamp,
            &$row.level,
            &$row.category,
            &$row.session_id,
            &$row.agent_id,
            &$row.user_id,
            &$row.channel,
            &$row.event_type,
            &$row.duration_ms,
            &$row.tokens_in,
            &$row.tokens_out,
            &$row.cost_usd,
            &$row.error,
            &$row.metadata,
            &$row.turn_id,
            &$row.trace_id,
            &$row.span_id,
            &$row.parent_span_id,
            &$row.cache_read_tokens,
            &$row.cache_write_tokens,
            &$row.prompt_fingerprint,
            &$row.layer_versions,
        ]
    };
}

impl EventRow {
    pub(crate) fn sqlite(&self) -> [&dyn rusqlite::ToSql; 22] {
        values!(self)
    }

    pub(crate) fn postgres(&self) -> [&(dyn ToSql + Sync); 22] {
        values!(self)
    }
}

impl From<&Event> for EventRow {
    fn from(event: &Event) -> Self {
        let number = |number: Option<u64>| number.map(u64::cast_signed);
        let name = |name: &Option<Arc<str>>| name.as_deref().map(str::to_owned);
        Self {
            timestamp: event.timestamp.to_string(),
            level: event.level.as_str(),
            category: event.category.to_string(),
            session_id: event.session_id.as_ref().map(ToString::to_string),
            agent_id: name(&event.agent_id),
            user_id: name(&event.user_id),
            channel: name(&event.channel),
            event_type: event.event_type.to_string(),
            duration_ms: number(event.duration_ms),
            tokens_in: number(event.tokens_in),
            tokens_out: number(event.tokens_out),
            cost_usd: event.cost_usd,
            error: event.error.clone(),
            metadata: event.metadata.as_ref().map(ToString::to_string),
            turn_id: event.turn_id.as_ref().map(ToString::to_string),
            trace_id: event.trace_id.map(|id| id.to_string()),
            span_id: event.span_id.map(|id| id.to_string()),
            parent_span_id: event.parent_span_id.map(|id| id.to_string()),
            cache_read_tokens: number(event.cache_read_tokens),
            cache_write_tokens: number(event.cache_write_tokens),
            prompt_fingerprint: event.prompt_fingerprint.map(|hash| hash.to_string()),
            layer_versions: None,
        }
    }
}
