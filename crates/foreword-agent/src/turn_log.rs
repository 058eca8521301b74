//! What a turn leaves in the event log: one event for each thing it does, joined by a trace.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level, SpanId, TraceId};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::message::Usage;
use foreword_core::model::ModelError;
use foreword_core::models::ModelId;
use foreword_core::money::Price;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn::{Ending, Permit, Refusal, Turn, Waiting};
use foreword_core::turn_journal::Outcome;
use foreword_observe::recorder::{Recorder, TurnNames};
use foreword_prompt::untrusted::single_line;
use foreword_store::epochs::InForce;
use serde_json::{Value, json};

use crate::prepare::Prepared;

/// The longest text from outside in an event.
const SHOWN: usize = 500;

/// Writes the events of one turn.
pub(crate) struct TurnLog {
    recorder: Recorder,
    conversation: ConversationId,
    turn: TurnId,
    agent: Arc<str>,
    user: Option<Arc<str>>,
    channel: Option<Arc<str>>,
    trace: Option<TraceId>,
    /// The span of the turn itself; those of its parts follow it.
    span: u64,
    parts: u64,
}

impl TurnLog {
    pub(crate) fn new(
        recorder: Recorder,
        (turn, conversation): (TurnId, ConversationId),
        prepared: &Prepared,
        random: u128,
    ) -> Self {
        let occasion = &prepared.built.occasion;
        Self {
            recorder,
            conversation,
            turn,
            agent: Arc::clone(&occasion.agent),
            user: occasion.user.clone(),
            channel: occasion.channel.as_ref().map(|channel| channel.as_str().into()),
            trace: TraceId::new(random),
            span: (random >> 64) as u64 | 1,
            parts: 0,
        }
    }

    /// What the turn is known by.
    pub(crate) fn names(&self) -> TurnNames {
        TurnNames {
            session: self.conversation.clone(),
            turn: self.turn.clone(),
            user: self.user.clone(),
            channel: self.channel.clone(),
            trace: self.trace,
            span: SpanId::new(self.span),
        }
    }

    fn event(&mut self, event_type: EventType, at: Timestamp) -> Event {
        let is_turn = matches!(event_type, EventType::TurnStarted | EventType::TurnCompleted);
        let (span, parent) = if is_turn {
            (SpanId::new(self.span), None)
        } else {
            self.parts += 1;
            (SpanId::new(self.span.wrapping_add(self.parts)), SpanId::new(self.span))
        };
        Event {
            session_id: Some(self.conversation.clone()),
            agent_id: Some(Arc::clone(&self.agent)),
            user_id: self.user.clone(),
            channel: self.channel.clone(),
            turn_id: Some(self.turn.clone()),
            trace_id: self.trace,
            span_id: span,
            parent_span_id: parent,
            ..Event::new(event_type, at)
        }
    }

    /// Something a tool or another part wants in the log, with the names of this turn on it.
    pub(crate) fn note(&mut self, event: Event) {
        let ours = self.event(event.event_type.clone(), event.timestamp);
        self.recorder.record(Event {
            session_id: ours.session_id,
            agent_id: ours.agent_id,
            user_id: ours.user_id,
            channel: ours.channel,
            turn_id: ours.turn_id,
            trace_id: ours.trace_id,
            span_id: ours.span_id,
            parent_span_id: ours.parent_span_id,
            ..event
        });
    }

    pub(crate) fn started(&mut self, prepared: &Prepared, at: Timestamp) {
        let metadata = json!({ "model": prepared.model.as_str(), "messageCount": prepared.before.len() + 1 });
        let event = self.event(EventType::TurnStarted, at);
        self.recorder.record(Event { metadata: Some(metadata), ..event });
        let trust = prepared.trust;
        let metadata = json!({
            "user": trust.user().as_str(),
            "ceiling": trust.ceiling().as_str(),
            "effective": trust.effective().as_str(),
        });
        let event = self.event(EventType::TrustResolved, at);
        self.recorder.record(Event { metadata: Some(metadata), ..event });
        self.prompt_built(prepared, at);
    }

    pub(crate) fn prompt_built(&mut self, prepared: &Prepared, at: Timestamp) {
        let epoch = prepared.stored_epoch();
        let opened = match &prepared.epoch {
            InForce::Opened(epoch) => Value::from(epoch.info.reason.to_string()),
            InForce::Reused { .. } => Value::Null,
        };
        let layer = |layer: &foreword_store::epochs::FrozenLayer| {
            json!({ "id": layer.id, "hash": layer.hash.to_string(), "tokens": layer.tokens, "stability": layer.stability,
                    "cut": layer.cut.is_some() })
        };
        let metadata = json!({
            "epoch": epoch.info.number,
            "opened": opened,
            "trust": prepared.trust.effective().as_str(),
            "tokens": epoch.info.tokens,
            "layers": epoch.prompt.layers.iter().map(layer).collect::<Vec<_>>(),
        });
        let event = self.event(EventType::PromptBuilt, at);
        self.recorder.record(Event {
            metadata: Some(metadata),
            prompt_fingerprint: Some(epoch.info.fingerprint),
            layer_versions: Some(Arc::new(epoch.info.layer_versions.clone())),
            ..event
        });
    }

    pub(crate) fn answered(
        &mut self,
        model: &ModelId,
        (usage, estimated): (Usage, Option<u64>),
        cost: Price,
        (at, took): (Timestamp, Duration),
    ) {
        let event = self.event(EventType::ApiCall, at);
        self.recorder.record(Event {
            duration_ms: Some(millis(took)),
            tokens_in: Some(usage.input + usage.cache_read + usage.cache_write),
            tokens_out: Some(usage.output),
            cache_read_tokens: Some(usage.cache_read),
            cache_write_tokens: Some(usage.cache_write),
            cost_usd: cost.known().map(|cost| cost.dollars()),
            metadata: Some(json!({ "model": model.as_str(), "provider": model.provider(), "estimatedTokens": estimated })),
            ..event
        });
    }

    /// A call that failed. If it is tried again, it is only a warning.
    pub(crate) fn call_failed(
        &mut self,
        error: &ModelError,
        attempt: u32,
        (waiting, paid): (Option<&Waiting>, Option<(Usage, Price)>),
        at: Timestamp,
    ) {
        let event = self.event(EventType::ApiError, at);
        let delay = waiting.map(|waiting| millis(waiting.until.since(at)));
        let metadata = json!({
            "provider": error.provider,
            "statusCode": error.status,
            "kind": error.kind,
            "retryAttempt": attempt,
            "retryAfterMs": error.retry_after.map(millis),
            "delayMs": delay,
            "queued": waiting.is_some_and(|waiting| waiting.queued),
            "requestId": error.request_id,
        });
        self.recorder.record(Event {
            level: if waiting.is_some() { Level::Warn } else { Level::Error },
            tokens_in: paid.map(|(usage, _)| usage.input + usage.cache_read + usage.cache_write),
            tokens_out: paid.map(|(usage, _)| usage.output),
            cost_usd: paid.and_then(|(_, cost)| cost.known()).map(|cost| cost.dollars()),
            error: Some(one_line(&error.to_string())),
            metadata: Some(metadata),
            ..event
        });
        if let Some(waiting) = waiting.filter(|waiting| waiting.queued) {
            let event = self.event(EventType::MessageQueued, at);
            let metadata = json!({ "until": waiting.until.to_string(), "delayMs": delay });
            self.recorder.record(Event { metadata: Some(metadata), ..event });
        }
    }

    pub(crate) fn tool_ended(
        &mut self,
        permit: &Permit,
        failed: Option<&str>,
        (at, took): (Timestamp, Duration),
    ) {
        let event = self.event(EventType::ToolCall, at);
        let metadata =
            json!({ "tool": permit.tool(), "call": permit.call().as_str(), "isError": failed.is_some() });
        self.recorder.record(Event {
            duration_ms: Some(millis(took)),
            metadata: Some(metadata.clone()),
            ..event
        });
        if let Some(error) = failed {
            let event = self.event(EventType::ToolError, at);
            let error = Some(one_line(error));
            // The model reads it and may find another way: for whoever watches it is a warning.
            self.recorder.record(Event { level: Level::Warn, error, metadata: Some(metadata), ..event });
        }
    }

    /// A call of a tool that was not allowed to run.
    pub(crate) fn tool_blocked(&mut self, refusal: &Refusal, at: Timestamp) {
        let event = self.event(EventType::ToolBlocked, at);
        let metadata = json!({ "tool": single_line(&refusal.tool, 80), "reason": one_line(&refusal.reason) });
        self.recorder.record(Event { metadata: Some(metadata), ..event });
    }

    pub(crate) fn ended(
        &mut self,
        turn: &Turn,
        ending: &Ending,
        cost: Price,
        (at, took): (Timestamp, Duration),
    ) {
        let usage = turn.usage();
        let input = usage.input + usage.cache_read + usage.cache_write;
        let event = self.event(EventType::TurnCompleted, at);
        let outcome = foreword_core::turn_journal::TurnState::Ended(ending.outcome);
        let metadata = json!({
            "outcome": outcome.as_str(),
            "totalTokens": input + usage.output,
            "toolCallCount": turn.tool_calls(),
        });
        self.recorder.record(Event {
            level: if ending.outcome == Outcome::Failed { Level::Error } else { Level::Info },
            duration_ms: Some(millis(took)),
            tokens_in: Some(input),
            tokens_out: Some(usage.output),
            cache_read_tokens: Some(usage.cache_read),
            cache_write_tokens: Some(usage.cache_write),
            cost_usd: cost.known().map(|cost| cost.dollars()),
            error: ending.failure.as_ref().map(|failure| one_line(&failure.message)),
            metadata: Some(metadata),
            ..event
        });
    }
}

/// A text on one line. Backticks stay: here they quote nothing that could be broken out of, and people read them.
fn one_line(text: &str) -> String {
    single_line(text, SHOWN).replace("\\u{60}", "`")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
