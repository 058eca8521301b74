//! Metrics and their Prometheus text.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::id::{ConversationId, TurnId};
use foreword_observe::export_status::ExportStatus;
use foreword_observe::metrics::{Gauges, Metrics, spawn_metrics_file};
use foreword_observe::recorder::{Recorder, base};
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_observe::sink::EventSink as _;
use foreword_observe::turn_fields::{Spans, TurnFields};
use proptest::prelude::*;
use serde_json::{Value, json};
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::exposition::Exposition;

const MANUAL: &str = include_str!("../../../../docs/telemetry.md");

fn redactor() -> Redactor {
    Redactor::new(&RedactionRules::default(), [0; 16]).unwrap()
}

fn event(event_type: EventType, metadata: Value) -> Event {
    Event { metadata: Some(metadata), ..Event::new(event_type, "2026-11-16T08:00:00Z".parse().unwrap()) }
}

fn after(events: impl IntoIterator<Item = Event>) -> Exposition {
    let metrics = Metrics::new();
    events.into_iter().for_each(|event| metrics.take(&redactor().event(event)));
    Exposition::read(&metrics.render())
}

fn call(model: &str) -> Event {
    Event {
        duration_ms: Some(1_200),
        tokens_in: Some(1_000),
        tokens_out: Some(50),
        cache_read_tokens: Some(700),
        cache_write_tokens: Some(100),
        cost_usd: Some(0.25),
        ..event(EventType::ApiCall, json!({ "model": model }))
    }
}

#[test]
fn calls_tokens_and_money_are_counted_by_model() {
    let failed = json!({ "provider": "anthropic", "model": "anthropic/claude", "kind": "rate_limited" });
    let unpriced = Event { cost_usd: None, ..call("ollama/qwen") };
    let limited = event(EventType::ProviderRateLimit, json!({ "provider": "anthropic" }));
    let page = after([
        call("anthropic/claude"),
        call("anthropic/claude"),
        event(EventType::ApiError, failed),
        limited,
        unpriced,
        event(EventType::CacheMiss, json!({ "cause": "ttl" })),
    ]);
    let model = ("model", "anthropic/claude");
    let provider = ("provider", "anthropic");
    let tokens = |kind| page.value("foreword_model_tokens_total", &[model, ("type", kind)]);
    assert_eq!(page.value("foreword_model_calls_total", &[provider, model]), Some(2.0));
    assert_eq!(
        ["input", "output", "cache_read", "cache_write"].map(tokens),
        [400.0, 100.0, 1_400.0, 200.0].map(Some)
    );
    assert_eq!(page.value("foreword_model_cost_dollars_total", &[model]), Some(0.5));
    assert_eq!(page.value("foreword_model_cache_read_ratio", &[model]), Some(0.7));
    let kind = ("kind", "rate_limited");
    assert_eq!(page.value("foreword_model_errors_total", &[provider, model, kind]), Some(1.0));
    assert_eq!(page.value("foreword_model_rate_limits_total", &[provider]), Some(1.0));
    assert_eq!(page.value("foreword_model_call_duration_seconds_sum", &[model]), Some(2.4));
    assert_eq!(page.value("foreword_model_unpriced_calls_total", &[("model", "ollama/qwen")]), Some(1.0));
    assert_eq!(page.value("foreword_cache_misses_total", &[("cause", "ttl")]), Some(1.0));
}

#[test]
fn turns_tools_messages_and_schedules_are_counted() {
    let ended = |outcome: &str| Event {
        duration_ms: Some(3_000),
        ..event(EventType::TurnCompleted, json!({ "outcome": outcome }))
    };
    let tool = |event_type| event(event_type, json!({ "tool": "bash" }));
    let from = |event_type, channel: &str| Event {
        channel: Some(channel.into()),
        ..Event::new(event_type, "2026-11-16T08:00:00Z".parse().unwrap())
    };
    let at = "2026-11-16T08:00:00Z".parse().unwrap();
    let never_began = Event { error: Some("no prompt".into()), ..Event::new(EventType::TurnCompleted, at) };
    let page = after([
        ended("done"),
        ended("failed"),
        never_began,
        Event { duration_ms: Some(40), ..tool(EventType::ToolCall) },
        tool(EventType::ToolError),
        tool(EventType::ToolTimeout),
        tool(EventType::ToolBlocked),
        from(EventType::MessageReceived, "signal:+15550100"),
        from(EventType::MessageSent, "signal:+15550100"),
        Event::new(EventType::ScheduleFired, at),
        Event::new(EventType::ScheduleError, at),
        Event::new(EventType::SessionCompacted, at),
        Event::new(EventType::BudgetExceeded, at),
    ]);
    assert_eq!(page.value("foreword_turns_total", &[("outcome", "failed")]), Some(2.0));
    assert_eq!(page.value("foreword_turns_total", &[("outcome", "cancelled")]), Some(0.0));
    assert_eq!(page.value("foreword_turn_duration_seconds_count", &[]), Some(2.0));
    for name in ["calls", "errors", "timeouts", "blocked"] {
        assert_eq!(
            page.value(&format!("foreword_tool_{name}_total"), &[("tool", "bash")]),
            Some(1.0),
            "{name}"
        );
    }
    let bucket = [("tool", "bash"), ("le", "0.05")];
    assert_eq!(page.value("foreword_tool_duration_seconds_bucket", &bucket), Some(1.0));
    for name in ["messages_received", "messages_sent"] {
        assert_eq!(
            page.value(&format!("foreword_{name}_total"), &[("channel", "signal")]),
            Some(1.0),
            "{name}"
        );
    }
    for name in ["schedules_fired", "schedules_failed", "compactions", "budget_stops"] {
        assert_eq!(page.value(&format!("foreword_{name}_total"), &[]), Some(1.0), "{name}");
    }
}

#[test]
fn labels_contain_no_users_conversations_or_addresses() {
    let metrics = Metrics::new();
    for event_type in EventType::KNOWN {
        let event = Event {
            user_id: Some("alice".into()),
            session_id: Some(ConversationId::new("c-secret").unwrap()),
            channel: Some("signal:+15550100".into()),
            error: Some("words of alice".into()),
            ..event(
                event_type.clone(),
                json!({ "tool": "bash", "sender": "bob@example.org", "reason": "words" }),
            )
        };
        metrics.take(&redactor().event(event));
    }
    metrics.take(&redactor().event(event(EventType::ToolBlocked, json!({ "tool": "meet_me_at_nine" }))));
    let text = metrics.render();
    for word in ["alice", "secret", "15550100", "bob", "words", "meet_me"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn names_that_keep_coming_share_a_series() {
    let page = after((0..500).map(|number| call(&format!("p{number}/m"))));
    let series = page.samples.iter().filter(|one| one.name == "foreword_model_calls_total");
    assert_eq!(series.clone().count(), 33);
    assert_eq!(series.map(|one| one.value).sum::<f64>(), 500.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_names_give_a_parsable_page(
        names in proptest::collection::vec(".{0,20}|[\"\\\\\n{},= ]{1,6}", 1..20),
    ) {
        let mut events: Vec<Event> = names.iter().map(|name| call(name)).collect();
        events.extend(names.iter().map(|name| event(EventType::ToolCall, json!({ "tool": name }))));
        events.extend(names.iter().map(|name| event(EventType::CacheMiss, json!({ "cause": name }))));
        let page = after(events);
        let calls = page.samples.iter().filter(|one| one.name == "foreword_model_calls_total");
        prop_assert_eq!(calls.map(|one| one.value).sum::<f64>(), names.len() as f64);
    }
}

#[test]
fn documented_families_match_the_code() {
    let families = after([]).families;
    for (name, kind) in &families {
        let row = MANUAL.lines().find(|line| line.starts_with(&format!("| `{name}` | {kind} |")));
        assert!(row.is_some(), "docs/telemetry.md has no row for `{name}`, a {kind}");
    }
    let rows = MANUAL.lines().filter(|line| line.starts_with("| `foreword_")).count();
    assert_eq!(rows, families.len());
}

#[tokio::test]
async fn running_turns_are_counted_however_they_end() {
    let metrics = Metrics::new();
    let recorder = Recorder::new(redactor(), Dispatch::new(base().with(metrics.layer())));
    let names = TurnFields {
        session: ConversationId::new("c-1").unwrap(),
        turn: TurnId::new("t-1").unwrap(),
        agent: "Ada".into(),
        user: None,
        channel: None,
        trace: None,
        span: None,
        parts: Spans::from(1),
    };
    let running = || Exposition::read(&metrics.render()).value("foreword_turns_running", &[]);
    let done = recorder.in_turn(&names, async { running() }).await;
    assert_eq!((done, running()), (Some(1.0), Some(0.0)));
    let cut_off = recorder.in_turn(&names, std::future::pending::<()>());
    assert_eq!(running(), Some(1.0));
    drop(cut_off);
    assert_eq!(running(), Some(0.0));
    metrics.set_gauges(|| Gauges { event_queue_depth: 7, ..Gauges::default() });
    assert_eq!(Exposition::read(&metrics.render()).value("foreword_event_queue_depth", &[]), Some(7.0));
}

#[tokio::test]
async fn metrics_file_is_current_and_failure_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("textfile/foreword.prom");
    let reported: Arc<Mutex<Vec<ExportStatus>>> = Arc::default();
    let hears = Arc::clone(&reported);
    let tell = Arc::new(move |news| hears.lock().unwrap().push(news));
    let metrics = Metrics::new();
    let kept = spawn_metrics_file(metrics.clone(), path.clone(), Duration::from_millis(5), tell);
    let until = async |ready: &dyn Fn() -> bool| {
        while !ready() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    until(&|| !reported.lock().unwrap().is_empty()).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    std::fs::create_dir(folder.path().join("textfile")).unwrap();
    until(&|| reported.lock().unwrap().len() == 2).await;
    metrics.take(&redactor().event(event(EventType::ScheduleFired, Value::Null)));
    kept.stop().await;
    let reported = reported.lock().unwrap();
    assert!(
        matches!(&reported[..], [ExportStatus::Failing(why), ExportStatus::Recovered(_)] if why.contains("foreword.prom")),
        "{reported:?}"
    );
    let page = Exposition::read(&std::fs::read_to_string(&path).unwrap());
    assert_eq!(page.value("foreword_schedules_fired_total", &[]), Some(1.0));
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft is left");
}
