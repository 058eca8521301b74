use std::sync::{Arc, Mutex};

use foreword_core::event::{Event, EventType, Level, SpanId, TraceId};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::timestamp::Timestamp;
use foreword_observe::lines::{Levels, LineForm, LineLayer};
use foreword_observe::recorder::{Recorder, base};
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_observe::turn_fields::{Spans, TurnFields};
use serde_json::{Value, json};
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;

/// A recorder that writes lines to memory.
struct Log {
    recorder: Recorder,
    lines: Arc<Mutex<Vec<String>>>,
    levels: Levels,
    dispatch: Dispatch,
}

fn at() -> Timestamp {
    "2026-11-16T02:47:03.1234Z".parse().unwrap()
}

impl Log {
    fn new(level: Level) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let levels = Levels::new(level);
        let redactor = Redactor::new(&RedactionRules::default(), [7; 16]).unwrap();
        let sink = Arc::clone(&lines);
        let sink = move |line: String| sink.lock().unwrap().push(line);
        let layer = LineLayer::new(sink, LineForm::Json, levels.clone(), redactor.clone(), Arc::new(at));
        let dispatch = Dispatch::new(base().with(layer).with(levels.clone()));
        Self { recorder: Recorder::new(redactor, dispatch.clone()), lines, levels, dispatch }
    }

    fn read(&self) -> Vec<Value> {
        self.lines.lock().unwrap().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn names() -> TurnFields {
    TurnFields {
        session: ConversationId::new("c-1").unwrap(),
        turn: TurnId::new("t-3").unwrap(),
        agent: "Ada".into(),
        user: Some("alice".into()),
        channel: None,
        trace: TraceId::new(7),
        span: SpanId::new(9),
        parts: Spans::from(10),
    }
}

#[test]
fn s14_6_event_is_one_json_line() {
    let log = Log::new(Level::Info);
    log.recorder.record(Event {
        session_id: Some(ConversationId::new("c-1").unwrap()),
        user_id: Some("alice".into()),
        agent_id: Some("Ada".into()),
        channel: Some("terminal:default".into()),
        turn_id: Some(TurnId::new("t-3").unwrap()),
        trace_id: TraceId::new(7),
        span_id: SpanId::new(9),
        duration_ms: Some(3_000),
        tokens_in: Some(1_500),
        tokens_out: Some(320),
        cache_read_tokens: Some(7),
        cost_usd: Some(0.5),
        error: Some("a \"b\"\n\u{1}".to_owned()),
        metadata: Some(
            json!({ "outcome": "failed", "totalTokens": 1_820, "toolCallCount": 2, "channel": "x" }),
        ),
        ..Event::new(EventType::TurnCompleted, at())
    });
    let lines = log.lines.lock().unwrap();
    assert_eq!(
        lines[0],
        concat!(
            r#"{"ts":"2026-11-16T02:47:03.123Z","level":"info","module":"agent","event":"turn_end","sessionId":"c-1","#,
            r#""userId":"alice","agentId":"Ada","channel":"terminal:default","turnId":"t-3","#,
            r#""traceId":"00000000000000000000000000000007","spanId":"0000000000000009","durationMs":3000,"#,
            r#""inputTokens":1500,"outputTokens":320,"totalTokens":1820,"cacheReadTokens":7,"costUsd":0.5,"#,
            r#""error":"a \"b\"\n\u0001","metadata.channel":"x","outcome":"failed","toolCallCount":2}"#,
            "\n"
        )
    );
}

#[test]
fn s14_7_level_filters_lines_and_changes_at_runtime() {
    let log = Log::new(Level::Info);
    let event = |level| Event { level, ..Event::new(EventType::ApiCall, at()) };
    for level in Level::ALL {
        log.recorder.record(event(level));
    }
    let levels = |log: &Log| log.read().iter().map(|line| line["level"].clone()).collect::<Vec<_>>();
    assert_eq!(levels(&log), ["info", "warn", "error"]);
    log.levels.set(Level::Error);
    Level::ALL.into_iter().for_each(|level| log.recorder.record(event(level)));
    assert_eq!(levels(&log)[3..], ["error"]);
}

#[test]
fn library_warnings_are_logged_and_everything_at_debug() {
    let log = Log::new(Level::Info);
    let say = || {
        tracing::trace!(target: "lib::wire", "too much");
        tracing::debug!(target: "lib::wire", "bytes");
        tracing::warn!(target: "lib::wire", password = "hunter2", attempt = 3, "no answer from {}", "postgres://a:hunter2@db");
    };
    tracing::dispatcher::with_default(&log.dispatch, say);
    let expected = json!({
        "ts": "2026-11-16T02:47:03.123Z", "level": "warn", "module": "lib::wire", "event": "log",
        "message": "no answer from postgres://a:[REDACTED]@db", "attempt": 3, "password": "[REDACTED]",
    });
    assert_eq!(log.read(), [expected]);
    log.levels.set(Level::Debug);
    tracing::dispatcher::with_default(&log.dispatch, say);
    assert_eq!(log.read().len(), 3);
}

#[tokio::test]
async fn library_log_lines_have_the_turns_ids() {
    let log = Log::new(Level::Info);
    let turn = async {
        let inner = tracing::warn_span!(target: "lib", "request");
        inner.in_scope(|| tracing::warn!(target: "lib", "slow"));
    };
    log.recorder.in_turn(&names(), turn).await;
    let lines = log.read();
    let expected = json!({
        "ts": "2026-11-16T02:47:03.123Z", "level": "warn", "module": "lib", "event": "log", "sessionId": "c-1",
        "agentId": "Ada", "userId": "alice", "turnId": "t-3", "traceId": "00000000000000000000000000000007", "spanId": "0000000000000009",
        "message": "slow",
    });
    assert_eq!(lines, [expected]);
}
