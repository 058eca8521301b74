//! The events of a turn in the event log. They share a trace.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level, SpanId, TraceId};
use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::model::{ErrorKind, ModelError};
use foreword_core::models::ModelId;
use foreword_core::money::Price;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn::{Ending, Permit, Refusal, RetryWait, Turn};
use foreword_core::turn_journal::Outcome;
use foreword_observe::recorder::Recorder;
use foreword_observe::turn_fields::{Spans, TurnFields};
use foreword_prompt::untrusted::{display_line, single_line};
use foreword_store::epochs::CurrentEpoch;
use serde_json::{Value, json};

use crate::turn::payload_log;
use crate::turn::prepare::Prepared;

/// The maximum length of untrusted text in an event.
const MAX_TEXT_CHARS: usize = 500;

/// Writes the events of one turn.
pub(crate) struct TurnLog {
    recorder: Recorder,
    names: TurnFields,
    /// The messages that the turn answers.
    messages: Vec<MessageId>,
}

/// The trace of a message and everything it causes.
pub(crate) fn trace_of(message: &MessageId) -> Option<TraceId> {
    TraceId::named(message.as_str())
}

/// The root span of a trace, which is that of the message.
pub(crate) fn root(trace: Option<TraceId>) -> Option<SpanId> {
    trace.and_then(|trace| trace.span("message"))
}

impl TurnLog {
    pub(crate) fn new(
        recorder: Recorder,
        turn: TurnId,
        conversation: ConversationId,
        prepared: &Prepared,
        messages: Vec<MessageId>,
        random: u128,
    ) -> Self {
        let occasion = &prepared.built.occasion;
        let trace = messages.first().map_or_else(|| TraceId::named(turn.as_str()), trace_of);
        let names = TurnFields {
            session: conversation,
            agent: Arc::clone(&occasion.agent),
            user: occasion.user.clone(),
            channel: occasion.channel.as_ref().map(|channel| channel.as_str().into()),
            trace,
            span: trace.and_then(|trace| trace.span(turn.as_str())),
            parts: Spans::from((random >> 64) as u64 | 1),
            turn,
        };
        Self { recorder, names, messages }
    }

    /// The fields that identify the turn in events.
    pub(crate) fn names(&self) -> &TurnFields {
        &self.names
    }

    fn event(&self, event_type: EventType, at: Timestamp) -> Event {
        let TurnFields { trace, span, parts, .. } = &self.names;
        let root = root(*trace);
        // Events before the start and after the end of the turn belong to the span of the message.
        let (span_id, parent_span_id) = match event_type {
            EventType::TurnStarted | EventType::TurnCompleted => (*span, root),
            EventType::TrustResolved | EventType::PromptBuilt | EventType::MessageSent => {
                (parts.next(), root)
            }
            _ => (parts.next(), *span),
        };
        let event = Event { trace_id: *trace, span_id, parent_span_id, ..Event::new(event_type, at) };
        self.names.on(event)
    }

    /// Logs a payload at level `debug`.
    pub(crate) fn payload(&self, name: &'static str, metadata: impl FnOnce() -> Value, at: Timestamp) {
        self.recorder.payload(|| self.names.on(payload_log::payload(name, metadata(), at)));
    }

    /// Logs an event with the fields of this turn.
    pub(crate) fn note(&self, event: Event) {
        self.recorder.record(self.names.on(event));
    }

    pub(crate) fn started(&self, prepared: &Prepared, at: Timestamp) {
        let metadata = json!({
            "model": prepared.model.as_str(),
            "messageCount": prepared.before.len() + 1,
            "messages": self.messages,
        });
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

    pub(crate) fn prompt_built(&self, prepared: &Prepared, at: Timestamp) {
        let epoch = prepared.stored_epoch();
        let layer = |layer: &foreword_store::epochs::FrozenLayer| {
            json!({ "id": layer.id, "hash": layer.hash.to_string(), "tokens": layer.tokens, "stability": layer.stability,
                    "cut": layer.cut })
        };
        let metadata = json!({
            "epoch": epoch.info.number,
            "reason": epoch.info.reason.to_string(),
            "opened": matches!(prepared.epoch, CurrentEpoch::Opened(_)).then(|| epoch.info.reason.to_string()),
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
        &self,
        model: &ModelId,
        usage: Usage,
        estimated: Option<u64>,
        cost: Price,
        at: Timestamp,
        took: Duration,
    ) {
        let event = self.event(EventType::ApiCall, at);
        self.recorder.record(Event {
            duration_ms: Some(millis(took)),
            tokens_in: Some(usage.input + usage.cache_read + usage.cache_write),
            tokens_out: Some(usage.output),
            cache_read_tokens: reported(usage, usage.cache_read),
            cache_write_tokens: reported(usage, usage.cache_write),
            cost_usd: cost.known().map(|cost| cost.dollars()),
            metadata: Some(json!({ "model": model.as_str(), "provider": model.provider(), "estimatedTokens": estimated })),
            ..event
        });
    }

    /// Logs an answer that was truncated at its output limit.
    pub(crate) fn answer_truncated(&self, model: &ModelId, problem: &str, at: Timestamp) {
        let event = self.event(EventType::AnswerTruncated, at);
        let metadata = json!({ "model": model.as_str(), "provider": model.provider() });
        self.recorder.record(Event { error: Some(problem.to_owned()), metadata: Some(metadata), ..event });
    }

    /// Logs a failed call. With an immediate retry it is a warning, else an error.
    pub(crate) fn call_failed(
        &self,
        error: &ModelError,
        model: &ModelId,
        attempt: u32,
        waiting: Option<&RetryWait>,
        paid: Option<(Usage, Price)>,
        at: Timestamp,
    ) {
        let event = self.event(EventType::ApiError, at);
        let delay = waiting.map(|waiting| millis(waiting.until.since(at)));
        let metadata = json!({
            "provider": error.provider,
            "model": model.as_str(),
            "statusCode": error.status,
            "kind": error.kind,
            "retryAttempt": attempt,
            "retryAfterMs": error.retry_after.map(millis),
            "delayMs": delay,
            "queued": waiting.is_some_and(|waiting| waiting.queued),
            "requestId": error.request_id,
        });
        self.recorder.record(Event {
            level: if waiting.is_some_and(|waiting| !waiting.queued) { Level::Warn } else { Level::Error },
            tokens_in: paid.map(|(usage, _)| usage.input + usage.cache_read + usage.cache_write),
            tokens_out: paid.map(|(usage, _)| usage.output),
            cost_usd: paid.and_then(|(_, cost)| cost.known()).map(|cost| cost.dollars()),
            error: Some(one_line(&error.to_string())),
            metadata: Some(metadata),
            ..event
        });
        if error.kind == ErrorKind::RateLimited {
            let event = self.event(EventType::ProviderRateLimit, at);
            let metadata = json!({ "provider": error.provider, "retryAfterMs": error.retry_after.map(millis).or(delay) });
            self.recorder.record(Event { metadata: Some(metadata), ..event });
        }
        if let Some(waiting) = waiting.filter(|waiting| waiting.queued) {
            let event = self.event(EventType::MessageQueued, at);
            let metadata = json!({ "until": waiting.until.to_string(), "delayMs": delay });
            self.recorder.record(Event { metadata: Some(metadata), ..event });
        }
    }

    pub(crate) fn tool_ended(&self, permit: &Permit, failed: Option<&str>, at: Timestamp, took: Duration) {
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
            // The model may recover, so it is only a warning.
            self.recorder.record(Event { level: Level::Warn, error, metadata: Some(metadata), ..event });
        }
    }

    /// Logs a rejected tool call.
    pub(crate) fn tool_blocked(&self, refusal: &Refusal, at: Timestamp) {
        let event = self.event(EventType::ToolBlocked, at);
        let metadata = json!({ "tool": single_line(&refusal.tool, 80), "reason": one_line(&refusal.reason) });
        self.recorder.record(Event { metadata: Some(metadata), ..event });
    }

    pub(crate) fn ended(&self, turn: &Turn, ending: &Ending, cost: Price, at: Timestamp, took: Duration) {
        let usage = turn.usage();
        let input = usage.input + usage.cache_read + usage.cache_write;
        let event = self.event(EventType::TurnCompleted, at);
        let outcome = foreword_core::turn_journal::TurnState::Ended(ending.outcome);
        let metadata = json!({
            "outcome": outcome.as_str(),
            "totalTokens": input + usage.output,
            "toolCallCount": turn.tool_calls(),
            "code": ending.failure.as_ref().map(|failure| failure.code),
        });
        self.recorder.record(Event {
            level: if ending.outcome == Outcome::Failed { Level::Error } else { Level::Info },
            duration_ms: Some(millis(took)),
            tokens_in: Some(input),
            tokens_out: Some(usage.output),
            cache_read_tokens: reported(usage, usage.cache_read),
            cache_write_tokens: reported(usage, usage.cache_write),
            cost_usd: cost.known().map(|cost| cost.dollars()),
            error: ending.failure.as_ref().map(|failure| one_line(failure.detail.for_record())),
            metadata: Some(metadata),
            ..event
        });
    }

    /// Logs that the answer is sent.
    pub(crate) fn answer_sent(&self, message: &MessageId, length: usize, at: Timestamp) {
        let event = self.event(EventType::MessageSent, at);
        let metadata = json!({ "message": message, "length": length });
        self.recorder.record(Event { metadata: Some(metadata), ..event });
    }
}

/// The text on one line. Backticks stay, because the log does not interpret them.
fn one_line(text: &str) -> String {
    display_line(text, MAX_TEXT_CHARS)
}

/// The number of cached tokens, or `None` if the provider did not report it.
fn reported(usage: Usage, tokens: u64) -> Option<u64> {
    (!usage.cache_unknown).then_some(tokens)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
