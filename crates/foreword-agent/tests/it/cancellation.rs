//! Cancellation at every point of a turn: shown text stays, processes are killed, and the conversation stays usable.

use std::time::Duration;

use foreword_agent::agent::Receipt;
use foreword_agent::conversation::feed::Progress;
use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::{Reply, Script};
use serde_json::json;

use crate::bash_limits::wait_for_living;
use crate::fixture::{Fixture, alice, follow, on, unwatched};
use crate::well_formed::all_well_formed;

const BOTH: [WireDialect; 2] = [WireDialect::Anthropic, WireDialect::OpenAi];

fn c1() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

/// Waits until something like that has happened.
async fn until(receipt: &Receipt, like: impl Fn(&Progress) -> bool) {
    let mut next = receipt.from;
    loop {
        let read = tokio::time::timeout(Duration::from_secs(20), receipt.feed.read(next));
        let batch = read.await.expect("it does not happen");
        next = batch.next;
        if batch.items.iter().any(|item| like(item)) {
            return;
        }
    }
}

/// Cancels, and says something else: that is answered on a history every provider takes.
async fn cancel_and_go_on(fixture: &Fixture, receipt: Receipt) -> String {
    fixture.agent.cancel(&c1());
    let seen = follow(receipt).await;
    assert_eq!(seen.ending(), (Outcome::Cancelled, None));
    fixture.provider.push(Reply::text("Very well."));
    let after = fixture.say("c-1", alice(), "something else").await;
    assert_eq!((after.text().as_str(), after.ending()), ("Very well.", (Outcome::Done, None)));
    let requests = fixture.provider.requests();
    all_well_formed(&requests);
    let sent = requests.last().unwrap().conversation();
    assert!(sent.contains("This turn was cancelled"), "{sent}");
    sent
}

#[tokio::test]
async fn cancel_while_streaming_keeps_the_text() {
    for dialect in BOTH {
        let fixture = Fixture::with([Reply::text("Once upon a time").then_silence()], dialect, "").await;
        let receipt = fixture.send("c-1", alice(), "a story").await;
        until(&receipt, |item| matches!(item, Progress::Text(words) if words.contains("time"))).await;
        let sent = cancel_and_go_on(&fixture, receipt).await;
        assert!(sent.contains("Once upon a time"), "{sent}");
        fixture.provider.until(|counts| counts.abandoned == 1).await;
    }
}

#[tokio::test]
async fn cancel_before_the_first_word_keeps_only_the_message() {
    let fixture = Fixture::new([Reply::silence()]).await;
    let receipt = fixture.send("c-1", alice(), "a story").await;
    fixture.provider.until(|counts| counts.requests == 1).await;
    let sent = cancel_and_go_on(&fixture, receipt).await;
    assert!(sent.contains("a story"), "{sent}");
}

#[tokio::test]
async fn cancel_during_a_command_kills_it() {
    for (number, dialect) in BOTH.into_iter().enumerate() {
        let seconds = format!("3600.{}77{number}", std::process::id());
        let sleep = json!({ "command": format!("sleep {seconds}") });
        let both = Reply::text("Wait. ")
            .and_tool_call("bash", sleep)
            .and_tool_call("memory_search", json!({ "query": "Carol" }));
        let fixture = Fixture::with([both], dialect, "").await;
        let receipt = fixture.send("c-1", alice(), "sleep").await;
        wait_for_living(&seconds, 1).await;
        let sent = cancel_and_go_on(&fixture, receipt).await;
        wait_for_living(&seconds, 0).await;
        assert!(sent.contains("stopped: the turn was cancelled. It may have taken effect"), "{sent}");
    }
}

#[tokio::test]
async fn cancel_during_a_retry_delay_prevents_the_retry() {
    let fixture = Fixture::new([Reply::status(429).header("retry-after", "100")]).await;
    let receipt = fixture.send("c-1", alice(), "hello").await;
    until(&receipt, |item| matches!(item, Progress::Status(_))).await;
    cancel_and_go_on(&fixture, receipt).await;
    assert_eq!(fixture.provider.requests().len(), 2);
}

#[tokio::test]
async fn cancel_during_a_confirmation_prevents_the_tool() {
    let fixture = Fixture::new([
        Reply::tool_call("bash", json!({ "command": "echo from outside" })),
        Reply::tool_call("write_file", json!({ "path": "notes.md", "text": "x" })),
    ])
    .await;
    let receipt = fixture.send("c-1", alice(), "write it down").await;
    until(&receipt, |item| matches!(item, Progress::Question(_))).await;
    cancel_and_go_on(&fixture, receipt).await;
    assert!(!fixture.folder.path().join("notes.md").exists());
}

#[tokio::test]
async fn cancel_during_a_summary_keeps_the_history() {
    let fixture = Fixture::new([
        Reply::text("One."),
        Reply::status(400).message("prompt is too long: 210000 tokens > 200000 maximum"),
        Reply::silence(),
    ])
    .await;
    fixture.say("c-1", alice(), "first").await;
    let receipt = fixture.send("c-1", alice(), "second").await;
    fixture.provider.until(|counts| counts.requests == 3).await;
    let sent = cancel_and_go_on(&fixture, receipt).await;
    assert!(sent.contains("first") && sent.contains("One."), "{sent}");
}

#[tokio::test]
async fn cancel_without_a_turn_has_no_effect() {
    let fixture = Fixture::new(Reply::text("Here.")).await;
    fixture.say("c-1", alice(), "hello").await;
    fixture.agent.cancel(&c1());
    let seen = fixture.say("c-1", alice(), "again").await;
    assert_eq!((seen.text().as_str(), seen.ending().0), ("Here.", Outcome::Done));
}

#[tokio::test]
async fn agent_shut_down_starts_no_turn() {
    let script = Script::from([Reply::text("Once").then_silence()]).then_always(Reply::text("More."));
    let fixture = Fixture::new(script).await;
    let first = fixture.send("c-1", alice(), "one").await;
    until(&first, |item| matches!(item, Progress::Text(_))).await;
    fixture.send("c-1", on("signal:bob"), "two").await;
    tokio::time::timeout(Duration::from_secs(10), fixture.agent.shut_down()).await.expect("it ends at once");
    assert_eq!(fixture.provider.requests().len(), 1);
    assert_eq!(fixture.store.pending(&c1()).await.unwrap().len(), 1, "whoever starts next answers it");
    let next = fixture.another(Default::default()).await;
    next.agent.recover().await.unwrap();
    fixture.provider.until(|counts| counts.requests == 2).await;
}

#[tokio::test]
async fn unattended_turn_survives_a_restart() {
    let script =
        Script::from([Reply::status(429).header("retry-after", "60")]).then_always(Reply::text("Late."));
    let setting = crate::fixture::Setting::lease(Duration::from_millis(400));
    let fixture = Fixture::set(script, setting.clone(), "").await;
    let receipt = fixture.send("c-1", unwatched(on("signal:bob")), "hello").await;
    until(&receipt, |item| matches!(item, Progress::Status(_))).await;
    fixture.agent.shut_down().await;
    let lease = setting.lease;
    let next = fixture.another(setting.later(lease)).await;
    let feed = next.agent.feed(&c1());
    next.agent.recover().await.unwrap();
    let mut resumed = false;
    while !resumed {
        let read = tokio::time::timeout(Duration::from_secs(20), feed.read(0));
        let items = read.await.expect("no node resumes the turn").items;
        resumed = items
            .iter()
            .any(|item| matches!(&**item, Progress::Status(text) if text.contains("turn resumes")));
    }
    next.agent.shut_down().await;
}
