//! Seed 000's span tree: all events of a message form one trace.

use std::collections::BTreeMap;

use foreword_core::event::{SpanId, StoredEvent};
use foreword_testkit::Reply;
use serde_json::json;

use crate::fixture::{Fixture, alice};

/// The events of a log as an indented tree.
fn tree(log: &[StoredEvent]) -> String {
    let parents: BTreeMap<SpanId, SpanId> =
        log.iter().filter_map(|event| Some((event.event.span_id?, event.event.parent_span_id?))).collect();
    let depth = |event: &StoredEvent| {
        std::iter::successors(event.event.parent_span_id, |span| parents.get(span).copied()).count()
    };
    let line =
        |event: &StoredEvent| format!("{}{}\n", "  ".repeat(depth(event)), event.event.event_type.as_str());
    log.iter().filter(|event| event.event.trace_id.is_some()).map(line).collect()
}

#[tokio::test]
async fn message_events_form_one_span_tree() {
    let fixture = Fixture::new([
        Reply::tool_call("memory_search", json!({ "query": "Carol" })),
        Reply::status(429),
        Reply::text("In May."),
    ])
    .await;
    fixture.say("c-1", alice(), "when is Carol's birthday?").await;
    let log = fixture.log().await;
    insta::assert_snapshot!(tree(&log), @r"
    message_received
      turn_started
      trust_resolved
      prompt_built
        api_call
        memory_search
        tool_call
        api_error
        provider_rate_limit
        cache_miss
        api_call
      turn_completed
      message_sent
    ");
    let traced: Vec<_> = log.iter().filter(|event| event.event.trace_id.is_some()).collect();
    assert!(traced.iter().all(|event| event.event.trace_id == traced[0].event.trace_id));
    for event in &traced {
        let names = (event.event.user_id.as_deref(), event.event.channel.as_deref());
        assert_eq!(names, (Some("alice"), Some("terminal:default")), "{event:?}");
        assert!(event.event.session_id.is_some() && event.event.agent_id.is_some(), "{event:?}");
    }
}

#[tokio::test]
async fn only_turn_start_and_end_share_a_span() {
    let fixture = Fixture::new([
        Reply::tool_call("memory_search", json!({ "query": "x" }))
            .and_tool_call("memory_search", json!({ "query": "y" })),
        Reply::text("Nothing."),
    ])
    .await;
    fixture.say("c-1", alice(), "look").await;
    let mut spans: BTreeMap<SpanId, Vec<String>> = BTreeMap::new();
    for event in fixture.log().await {
        if let Some(span) = event.event.span_id {
            spans.entry(span).or_default().push(event.event.event_type.to_string());
        }
    }
    let shared: Vec<_> = spans.into_values().filter(|events| events.len() > 1).collect();
    assert_eq!(shared, [["turn_started", "turn_completed"]]);
}

#[tokio::test]
async fn sent_answer_is_logged_with_length_and_channel() {
    let fixture = Fixture::new(Reply::text("In May.")).await;
    fixture.say("c-1", alice(), "when?").await;
    let log = fixture.log().await;
    let sent = log.iter().find(|event| event.event.event_type.as_str() == "message_sent").unwrap();
    assert_eq!(sent.event.metadata.as_ref().unwrap()["length"], json!(7));
    assert_eq!(sent.event.channel.as_deref(), Some("terminal:default"));
}

#[tokio::test]
async fn failed_turn_logs_no_sent_message() {
    let fixture = Fixture::new(Reply::status(401)).await;
    fixture.say("c-1", alice(), "when?").await;
    let log = fixture.log().await;
    assert!(log.iter().all(|event| event.event.event_type.as_str() != "message_sent"), "{log:?}");
}

#[tokio::test]
async fn summary_in_a_turn_is_in_its_trace() {
    let fixture = Fixture::new([
        Reply::text("Noted."),
        Reply::status(400).message("prompt is too long: 300000 tokens > 200000 maximum"),
        Reply::text("They spoke of the harbour."),
        Reply::text("The harbour."),
    ])
    .await;
    fixture.say("c-1", alice(), "remember the harbour").await;
    fixture.say("c-1", alice(), "which place?").await;
    let log = fixture.log().await;
    let compacted = log.iter().find(|event| event.event.event_type.as_str() == "session_compacted").unwrap();
    let turn = log.iter().rev().find(|event| event.event.event_type.as_str() == "turn_started").unwrap();
    let of = |event: &StoredEvent| (event.event.turn_id.clone(), event.event.trace_id);
    assert_eq!(of(compacted), of(turn));
    assert_eq!(compacted.event.parent_span_id, turn.event.span_id);
}
