//! Seed 001, section 14: the events of a turn. Log files and filters are tested elsewhere.

use foreword_core::event::{Level, StoredEvent};
use foreword_core::message::Usage;
use foreword_testkit::Reply;
use serde_json::{Value, json};

use crate::fixture::{Fixture, alice, in_group};

fn named<'a>(log: &'a [StoredEvent], name: &str) -> Vec<&'a StoredEvent> {
    log.iter().filter(|event| event.event.event_type.to_string() == name).collect()
}

fn metadata(event: &StoredEvent) -> &Value {
    event.event.metadata.as_ref().unwrap()
}

#[tokio::test]
async fn s14_1_turn_start_and_end_are_logged() {
    let fixture = Fixture::new([Reply::text("One."), Reply::status(401), Reply::text("Three.")]).await;
    for text in ["first", "second", "third"] {
        fixture.say("c-1", alice(), text).await;
    }
    let log = fixture.log().await;
    let turns = |name| named(&log, name).iter().map(|event| event.event.turn_id.clone()).collect::<Vec<_>>();
    assert_eq!(turns("turn_started").len(), 3);
    assert_eq!(turns("turn_started"), turns("turn_completed"));
    let ends = named(&log, "turn_completed");
    let outcomes: Vec<(Level, &Value)> =
        ends.iter().map(|event| (event.event.level, &metadata(event)["outcome"])).collect();
    assert_eq!(outcomes[0], (Level::Info, &json!("done")));
    assert_eq!(outcomes[1], (Level::Error, &json!("failed")));
}

#[tokio::test]
async fn s14_1_turn_without_a_prompt_is_logged_as_failed() {
    let fixture = Fixture::new(Reply::text("Never.")).await;
    let tiny = crate::fixture::configuration("prompt: { budget: { tokens: 10 } }\n");
    std::fs::write(fixture.folder.path().join("foreword.yaml"), tiny).unwrap();
    fixture.workspace.refresh();
    let seen = fixture.say("c-1", alice(), "hello").await;
    let (_, failure) = seen.ending();
    assert!(failure.is_some_and(|failure| failure.contains("does not fit")), "{seen:?}");
    let log = fixture.log().await;
    let [end] = named(&log, "turn_completed")[..] else { panic!("{log:?}") };
    assert_eq!((named(&log, "turn_started").len(), end.event.level), (1, Level::Error));
    assert!(end.event.error.is_some() && fixture.provider.requests().is_empty());
}

#[tokio::test]
async fn s14_2_tool_calls_log_name_duration_and_failure() {
    let fixture = Fixture::new([
        Reply::tool_call("memory_search", json!({ "query": "Carol" }))
            .and_tool_call("memory_get", json!({ "path": "memory/social/nobody.md" })),
        Reply::text("Done."),
    ])
    .await;
    fixture.say("c-1", alice(), "look").await;
    let log = fixture.log().await;
    let calls = named(&log, "tool_call");
    let said: Vec<(&Value, &Value)> =
        calls.iter().map(|call| (&metadata(call)["tool"], &metadata(call)["isError"])).collect();
    assert_eq!(said, [(&json!("memory_search"), &json!(false)), (&json!("memory_get"), &json!(true))]);
    assert!(calls.iter().all(|call| call.event.duration_ms.is_some()), "{calls:?}");
    let [error] = named(&log, "tool_error")[..] else { panic!("{log:?}") };
    assert_eq!((error.event.level, &metadata(error)["tool"]), (Level::Warn, &json!("memory_get")));
    assert!(error.event.error.as_ref().is_some_and(|error| error.contains("nobody.md")), "{error:?}");
}

#[tokio::test]
async fn s14_3_turn_end_has_the_tokens_of_all_calls() {
    let usage = |input, output| Usage { input, output, cache_read: 7, ..Usage::default() };
    let fixture = Fixture::new([
        Reply::tool_call("memory_search", json!({ "query": "Carol" })).usage(usage(100, 20)),
        Reply::text("Done.").usage(usage(150, 30)),
    ])
    .await;
    fixture.say("c-1", alice(), "look").await;
    let log = fixture.log().await;
    let [end] = named(&log, "turn_completed")[..] else { panic!("{log:?}") };
    assert_eq!((end.event.tokens_in, end.event.tokens_out), (Some(264), Some(50)));
    assert_eq!((&metadata(end)["totalTokens"], &metadata(end)["toolCallCount"]), (&json!(314), &json!(1)));
    assert!(end.event.cost_usd.is_some_and(|cost| cost > 0.0), "{end:?}");
}

#[tokio::test]
async fn s14_3_tokens_of_a_broken_stream_are_counted() {
    let usage = Usage { input: 1_000, output: 2, ..Usage::default() };
    let whole = Fixture::new([Reply::text("One two.").usage(usage)]).await;
    let broken =
        Fixture::new([Reply::cut_after("One ").usage(usage), Reply::text("two.").usage(usage)]).await;
    let mut spent = Vec::new();
    for fixture in [&whole, &broken] {
        fixture.say("c-1", alice(), "count").await;
        let log = fixture.log().await;
        let end = &named(&log, "turn_completed")[0].event;
        spent.push((end.tokens_in.unwrap(), end.cost_usd.unwrap()));
    }
    assert_eq!((spent[0].0, spent[1].0), (1_000, 2_000));
    assert!(spent[1].1 > 1.9 * spent[0].1, "{spent:?}");
}

#[tokio::test]
async fn s14_5_provider_errors_are_logged_with_status_and_attempt() {
    let fixture = Fixture::new([Reply::status(529), Reply::status(503), Reply::text("Here.")]).await;
    fixture.say("c-1", alice(), "hello").await;
    let log = fixture.log().await;
    let errors = named(&log, "api_error");
    let said: Vec<Vec<&Value>> = errors
        .iter()
        .map(|error| ["provider", "statusCode", "retryAttempt"].map(|field| &metadata(error)[field]).to_vec())
        .collect();
    assert_eq!(said[0], [&json!("fake"), &json!(529), &json!(0)]);
    assert_eq!(said[1], [&json!("fake"), &json!(503), &json!(1)]);
}

#[tokio::test]
async fn s14_8_skipped_tool_call_logs_its_reason() {
    let command = json!({ "command": "rm -rf /" });
    let fixture = Fixture::new([
        Reply::tool_call("bash", command.clone()),
        Reply::text("No."),
        Reply::tool_call("bash", command),
        Reply::text("No."),
    ])
    .await;
    fixture.say("c-1", in_group("signal:bob"), "clean up").await;
    let log = fixture.log().await;
    let [blocked] = named(&log, "tool_blocked")[..] else { panic!("{log:?}") };
    assert_eq!(metadata(blocked)["tool"], "bash");
    assert!(metadata(blocked)["reason"].as_str().unwrap().contains("no tool `bash`"), "{blocked:?}");
    fixture.say("c-2", alice(), "clean up").await;
    let log = fixture.log().await;
    let [_, blocked] = named(&log, "tool_blocked")[..] else { panic!("{log:?}") };
    assert!(metadata(blocked).to_string().contains("rm -rf /"), "{blocked:?}");
}
