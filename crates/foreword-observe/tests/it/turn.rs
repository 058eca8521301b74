//! The events of a turn, and an exporter that receives them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreword_core::backoff::Backoff;
use foreword_core::event::{Event, EventType, Level, SpanId, TraceId};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::provider::BaseUrl;
use foreword_core::timestamp::Timestamp;
use foreword_observe::export_status::ExportStatus;
use foreword_observe::otlp::{ExportTimeouts, Otlp, OtlpSettings};
use foreword_observe::recorder::{Recorder, base};
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_observe::turn_fields::{Spans, TurnFields};
use serde_json::{Value, json};
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::collector::Collector;

/// A message text that must not reach a collector.
pub(crate) const WORDS: &str = "grandmother's birthday";

/// An exporter with its recorder.
pub(crate) struct Exporting {
    pub(crate) otlp: Otlp,
    pub(crate) recorder: Recorder,
    pub(crate) reported: Arc<Mutex<Vec<ExportStatus>>>,
}

pub(crate) fn settings(address: &str) -> OtlpSettings {
    OtlpSettings {
        endpoint: BaseUrl::parse(address).unwrap(),
        headers: Vec::new(),
        timeout: Duration::from_millis(300),
        service_name: "harbour".to_owned(),
        level: Level::Info,
        timeouts: ExportTimeouts {
            // A shutdown does not wait for it.
            linger: Duration::from_millis(150),
            backoff: Backoff { first: Duration::from_millis(10), max: Duration::from_millis(40) },
            give_up: Duration::from_millis(1_500),
            stopping: Duration::from_millis(1_000),
        },
    }
}

impl Exporting {
    pub(crate) fn to(collector: &Collector) -> Self {
        Self::with(settings(&collector.address))
    }

    pub(crate) fn with(settings: OtlpSettings) -> Self {
        let otlp = Otlp::new(settings).unwrap();
        let redactor = Redactor::new(&RedactionRules::default(), [0; 16]).unwrap();
        let recorder = Recorder::new(redactor, Dispatch::new(base().with(otlp.layer())));
        let reported: Arc<Mutex<Vec<ExportStatus>>> = Arc::default();
        let hears = Arc::clone(&reported);
        otlp.start(Arc::new(move |news| hears.lock().unwrap().push(news)));
        Self { otlp, recorder, reported }
    }

    pub(crate) fn reported(&self) -> Vec<ExportStatus> {
        self.reported.lock().unwrap().clone()
    }
}

/// The ids of a turn that answers a message.
pub(crate) struct Turn {
    pub(crate) names: TurnFields,
    message: &'static str,
}

pub(crate) fn at(millis: u64) -> Timestamp {
    let start: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
    start.plus(Duration::from_millis(millis))
}

impl Turn {
    pub(crate) fn of(message: &'static str, turn: &str) -> Self {
        let trace = TraceId::named(message);
        let names = TurnFields {
            session: ConversationId::new("c-1").unwrap(),
            turn: TurnId::new(turn).unwrap(),
            agent: "Ada".into(),
            user: Some("alice".into()),
            channel: Some("signal:+15550100".into()),
            trace,
            span: trace.and_then(|trace| trace.span(turn)),
            parts: Spans::from(1),
        };
        Self { names, message }
    }

    pub(crate) fn root(&self) -> Option<SpanId> {
        self.names.trace.and_then(|trace| trace.span("message"))
    }

    pub(crate) fn received(&self) -> Event {
        Event {
            trace_id: self.names.trace,
            span_id: self.root(),
            session_id: Some(self.names.session.clone()),
            agent_id: Some(self.names.agent.clone()),
            user_id: self.names.user.clone(),
            channel: self.names.channel.clone(),
            metadata: Some(json!({ "message": self.message, "length": 42 })),
            ..Event::new(EventType::MessageReceived, at(0))
        }
    }

    pub(crate) fn event(&self, event_type: EventType, millis: u64, metadata: Value) -> Event {
        let (span_id, parent_span_id) = match event_type {
            EventType::TurnStarted | EventType::TurnCompleted => (self.names.span, self.root()),
            EventType::TrustResolved | EventType::PromptBuilt | EventType::MessageSent => {
                (self.names.parts.next(), self.root())
            }
            _ => (self.names.parts.next(), self.names.span),
        };
        let trace_id = self.names.trace;
        let event = Event::new(event_type, at(millis));
        self.names.on(Event { trace_id, span_id, parent_span_id, metadata: Some(metadata), ..event })
    }

    /// All events of a turn with a tool call, a failed model call and a reply.
    pub(crate) fn events(&self) -> Vec<Event> {
        let model = "anthropic/claude-haiku-4-5";
        let call = |event: Event| Event {
            duration_ms: Some(800),
            tokens_in: Some(5_200),
            tokens_out: Some(40),
            cache_read_tokens: Some(4_800),
            cache_write_tokens: Some(100),
            cost_usd: Some(0.0125),
            ..event
        };
        let started = json!({ "model": model, "messageCount": 1, "messages": [self.message] });
        let trust = json!({ "user": "full", "ceiling": "full", "effective": "full" });
        let prompt = json!({ "epoch": 3, "reason": WORDS, "opened": false, "trust": "full", "layers": [{ "id": WORDS }] });
        let error = json!({
            "provider": "anthropic", "model": model, "kind": "rate_limited", "statusCode": 429, "retryAttempt": 1,
            "requestId": WORDS,
        });
        let tool = json!({ "tool": "memory_search", "call": "x1", "isError": true });
        let failed = |event: Event| Event { error: Some(WORDS.to_owned()), ..event };
        vec![
            self.received(),
            self.event(EventType::TurnStarted, 10, started),
            self.event(EventType::TrustResolved, 11, trust),
            self.event(EventType::PromptBuilt, 12, prompt),
            call(self.event(EventType::ApiCall, 900, json!({ "model": model }))),
            self.event(EventType::MemorySearch, 905, json!({ "query": WORDS, "hits": 3 })),
            Event { duration_ms: Some(12), ..self.event(EventType::ToolCall, 915, tool.clone()) },
            failed(self.event(EventType::ToolError, 915, tool)),
            self.event(EventType::ToolBlocked, 916, json!({ "tool": WORDS, "reason": WORDS })),
            failed(self.event(EventType::ApiError, 950, error)),
            self.event(
                EventType::ProviderRateLimit,
                950,
                json!({ "provider": "anthropic", "retryAfterMs": 1_000 }),
            ),
            call(self.event(
                EventType::TurnCompleted,
                2_000,
                json!({ "outcome": "done", "totalTokens": 5_240, "toolCallCount": 1 }),
            )),
            self.event(EventType::MessageSent, 2_010, json!({ "message": "m-2", "length": 7 })),
        ]
    }
}
