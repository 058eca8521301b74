//! The exported trace of a turn: tree, times, attributes, and no message texts.

use std::collections::BTreeMap;
use std::time::Duration;

use foreword_core::event::{Event, EventType, TraceId};
use foreword_core::provider::Secret;
use foreword_observe::otlp::OtlpSettings;
use proptest::prelude::*;
use serde_json::{Value, json};
use tracing::Instrument as _;

use crate::collector::Collector;
use crate::turn::{Exporting, Turn, WORDS, settings};

/// A collector after the export of these events.
async fn exported(events: Vec<Event>) -> Collector {
    let collector = Collector::start(&[]).await;
    let exporting = Exporting::to(&collector);
    events.into_iter().for_each(|event| exporting.recorder.record(event));
    exporting.otlp.stop().await;
    assert_eq!((exporting.otlp.dropped(), exporting.reported()), (0, Vec::new()));
    collector
}

fn named<'s>(spans: &'s [Value], name: &str) -> &'s Value {
    spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
}

fn attribute<'s>(span: &'s Value, name: &str) -> Option<&'s Value> {
    let all = span["attributes"].as_array().unwrap();
    all.iter()
        .find(|one| one["key"] == name)
        .map(|one| one["value"].as_object().unwrap().values().next().unwrap())
}

#[tokio::test]
async fn turn_is_exported_by_the_conventions() {
    let collector = exported(Turn::of("m-1", "t-1").events()).await;
    let requests = collector.requests();
    assert!(requests[0].head.starts_with("POST /v1/traces HTTP/1.1"), "{}", requests[0].head);
    assert!(requests[0].head.contains("content-type: application/json"), "{}", requests[0].head);
    let bodies: Vec<&Value> = requests.iter().map(|request| &request.body).collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&bodies).unwrap());
}

#[tokio::test]
async fn every_span_is_within_its_parent() {
    let spans = exported(Turn::of("m-1", "t-1").events()).await.spans();
    let time = |span: &Value, end: &str| span[end].as_str().unwrap().parse::<u64>().unwrap();
    let by_id: BTreeMap<&str, &Value> =
        spans.iter().map(|span| (span["spanId"].as_str().unwrap(), span)).collect();
    assert_eq!(by_id.len(), spans.len(), "no span is reported twice");
    let mut roots = 0;
    for span in &spans {
        assert_eq!(
            (span["traceId"].as_str().unwrap().len(), span["spanId"].as_str().unwrap().len()),
            (32, 16)
        );
        let (start, end) = (time(span, "startTimeUnixNano"), time(span, "endTimeUnixNano"));
        assert!(start <= end && start > 1_700_000_000_000_000_000);
        match span.get("parentSpanId").and_then(Value::as_str) {
            None => roots += 1,
            Some(parent) => {
                let parent = by_id[parent];
                assert!(time(parent, "startTimeUnixNano") <= start, "{span:#}");
                assert!(time(parent, "endTimeUnixNano") >= end, "{span:#}");
            }
        }
    }
    assert_eq!((roots, spans.len()), (1, 5));
    assert_eq!(named(&spans, "message")["kind"], 2);
    assert_eq!(named(&spans, "chat claude-haiku-4-5")["kind"], 3);
}

#[tokio::test]
async fn turn_without_message_has_a_root_span() {
    let turn = Turn::of("t-own", "t-own");
    let failed = Event {
        error: Some(WORDS.to_owned()),
        ..turn.event(EventType::TurnCompleted, 90, json!({ "outcome": "failed" }))
    };
    let spans = exported(vec![turn.event(EventType::TurnStarted, 10, json!({})), failed]).await.spans();
    let (root, inner) = (named(&spans, "message"), named(&spans, "invoke_agent Ada"));
    assert_eq!(inner["parentSpanId"], root["spanId"]);
    for span in [root, inner] {
        assert_eq!(span["status"], json!({ "code": 2 }));
        assert_eq!(attribute(span, "error.type"), Some(&json!("failed")));
    }
}

#[tokio::test]
async fn turn_links_and_ends_all_answered_messages() {
    let (first, second) = (Turn::of("m-1", "t-1"), Turn::of("m-2", "t-1"));
    let started = json!({ "messages": ["m-1", "m-2"] });
    let spans = exported(vec![
        first.received(),
        second.received(),
        first.event(EventType::TurnStarted, 10, started),
        first.event(EventType::TurnCompleted, 20, json!({ "outcome": "done" })),
    ])
    .await
    .spans();
    let other = TraceId::named("m-2").unwrap();
    let link = json!([{ "traceId": other, "spanId": other.span("message") }]);
    assert_eq!(named(&spans, "invoke_agent Ada")["links"], link);
    assert_eq!(spans.iter().filter(|span| span["name"] == "message").count(), 2);
}

#[tokio::test]
async fn answering_process_exports_the_message() {
    let turn = Turn::of("m-1", "t-1");
    let collector = exported(vec![turn.received(), turn.event(EventType::TurnStarted, 10, json!({}))]).await;
    assert_eq!(collector.requests().len(), 0, "an empty request is none");
}

#[tokio::test]
async fn library_spans_join_the_trace_of_the_turn() {
    let collector = Collector::start(&[]).await;
    let exporting = Exporting::to(&collector);
    let turn = Turn::of("m-1", "t-1");
    exporting
        .recorder
        .in_turn(&turn.names, async {
            async {
                let _ = tracing::info_span!(target: "deep", "read", file = WORDS).entered();
                let _ = tracing::debug_span!(target: "deep", "too_small_to_tell").entered();
            }
            .instrument(tracing::info_span!(target: "rmcp", "call_tool", arguments = WORDS))
            .await;
        })
        .await;
    let _ = tracing::info_span!(target: "rmcp", "outside_of_any_turn").entered();
    exporting.otlp.stop().await;
    let spans = collector.spans();
    let (call, read) = (named(&spans, "call_tool"), named(&spans, "read"));
    assert_eq!(spans.len(), 2);
    assert_eq!(call["parentSpanId"], json!(turn.names.span));
    assert_eq!(read["parentSpanId"], call["spanId"]);
    assert_eq!((&call["traceId"], &read["traceId"]), (&json!(turn.names.trace), &json!(turn.names.trace)));
    let body = collector.requests()[0].body.to_string();
    assert!(!body.contains(WORDS) && body.contains(r#""scope":{"name":"rmcp"}"#), "{body}");
}

#[tokio::test]
async fn headers_and_service_name_are_sent() {
    let collector = Collector::start(&[]).await;
    let headers = vec![("authorization".to_owned(), Secret::new("Bearer abc"))];
    let exporting =
        Exporting::with(OtlpSettings { headers, ..settings(&format!("{}/v1/traces/", collector.address)) });
    Turn::of("m-1", "t-1").events().into_iter().for_each(|event| exporting.recorder.record(event));
    exporting.otlp.stop().await;
    let request = &collector.requests()[0];
    assert!(request.head.starts_with("POST /v1/traces HTTP/1.1"), "{}", request.head);
    assert!(request.head.contains("authorization: Bearer abc"), "{}", request.head);
    let resource = &request.body["resourceSpans"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), Some(&json!("harbour")));
}

#[tokio::test]
async fn events_without_a_trace_are_not_exported() {
    let at = "2026-11-16T08:00:00Z".parse().unwrap();
    let events = EventType::KNOWN.iter().map(|kind| Event::new(kind.clone(), at)).collect();
    assert_eq!(exported(events).await.requests().len(), 0);
}

/// An event of any type within a turn, with `words` in every text field.
fn wordy(turn: &Turn, event_type: EventType, key: &str, words: &str) -> Event {
    let metadata = json!({
        key: words, "query": words, "reason": words, "error": words, "outcome": words, "cause": format!("{words} {words}"), "kind": words,
        "sender": words, "statusCode": words, "trust": words, "effective": words, "note": { "deep": [words] },
        "messages": [words],
    });
    Event {
        error: Some(words.to_owned()),
        user_id: Some(words.into()),
        channel: Some(format!("signal:{words}").into()),
        duration_ms: Some(5),
        ..turn.event(event_type, 500, metadata)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn exported_bodies_contain_no_message_text(
        words in "[a-z]{12,16}|[A-Z][a-z]{9} [a-z]{9}", key in "[a-z]{3,8}", odd in "[a-z]{3,8}_x",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let turn = Turn::of("m-1", "t-1");
            let mut events = vec![turn.received(), turn.event(EventType::TurnStarted, 10, json!({}))];
            let kinds = EventType::KNOWN.iter().cloned().chain([EventType::from(odd.clone())]);
            events.extend(kinds.map(|kind| wordy(&turn, kind, &key, &words)));
            events.push(wordy(&turn, EventType::TurnCompleted, &key, &words));
            let collector = exported(events).await;
            let bodies: String = collector.requests().iter().map(|one| one.body.to_string()).collect();
            assert!(collector.spans().len() > 3);
            for word in words.split(' ').chain([&*odd]) {
                let found = bodies.find(word).and_then(|at| bodies.get(at.saturating_sub(80)..));
                assert!(found.is_none(), "{word}: {:.200}", found.unwrap_or_default());
            }
        });
    }
}

#[tokio::test]
async fn hundred_turns_are_exported_in_batches() {
    let collector = Collector::start(&[]).await;
    let exporting = Exporting::to(&collector);
    for number in 0..100 {
        let turn = Turn::of(Box::leak(format!("m-{number}").into_boxed_str()), &format!("t-{number}"));
        turn.events().into_iter().for_each(|event| exporting.recorder.record(event));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    exporting.otlp.stop().await;
    assert_eq!((collector.spans().len(), exporting.otlp.dropped()), (500, 0));
    assert!(collector.requests().len() < 100, "{}", collector.requests().len());
}
