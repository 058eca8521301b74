//! Failing batches while the agent runs: they wait without blocking others, and an unavailable provider is retried with
//! backoff.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foreword_agent::background::inbox::InboxWorker;
use foreword_core::sender::InboxState;
use foreword_testkit::{Received, Reply, Script, until};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::fixture::Fixture;
use crate::inbox_fixture::{has_results, inbox_id, leave, outbox, read, sovereign, waiting};

/// A batch is begun at once; a call that fails, fails its turn, although it could wait in a queue of its own.
const AT_ONCE: &str = "\
inbox: { gather_seconds: 0 }
retry: { max_retries: 0, requeue: { max_attempts: 5, delay_ms: 60000 } }
";

/// A provider that is unavailable for the requests that match `fails`, until it is restored.
fn away_for(fails: impl Fn(&Received) -> bool + Send + 'static) -> (Script, Arc<AtomicBool>) {
    let back = Arc::new(AtomicBool::new(false));
    let is_back = Arc::clone(&back);
    let script = Script::answering(move |request| {
        if !is_back.load(Ordering::Relaxed) && fails(request) {
            return Reply::status(503);
        }
        if has_results(request) {
            return Reply::text("Done.");
        }
        waiting(request).into_iter().fold(Reply::text("So."), |reply, id| {
            let input = json!({ "message": id, "text": format!("to {id}") });
            reply.and_tool_call("inbox_reply", input)
        })
    });
    (script, back)
}

async fn attempts(fixture: &Fixture, id: &str) -> u64 {
    fixture.store.inbox_message(&inbox_id(id)).await.unwrap().attempts
}

async fn sent(fixture: &Fixture) -> Vec<String> {
    outbox(&fixture.store).await.into_iter().map(|(_, text)| text).collect()
}

#[tokio::test]
async fn failing_message_does_not_block_other_senders() {
    let (script, back) = away_for(|request| read(request).contains("abracadabra"));
    let fixture = sovereign(script, AT_ONCE).await;
    let answering = InboxWorker::start(&fixture.agent);
    leave(&fixture, "bad", "0xmm", "abracadabra").await;
    until("it fails", async || attempts(&fixture, "bad").await == 1).await;
    let failed = Instant::now();
    leave(&fixture, "bad-2", "0xmm", "and something else").await;
    for number in 1..=3 {
        leave(&fixture, &format!("good-{number}"), &format!("0xa{number}"), "hello").await;
        until("others are answered", async || sent(&fixture).await.len() == number).await;
    }
    assert_eq!(sent(&fixture).await, ["to good-1", "to good-2", "to good-3"]);
    // It was not tried in between, or its pause had been over.
    assert!(attempts(&fixture, "bad").await == 1 || failed.elapsed() > Duration::from_secs(1));
    until("it is tried again", async || attempts(&fixture, "bad").await >= 2).await;
    assert!(failed.elapsed() > Duration::from_secs(1));
    let bad = fixture.store.inbox_message(&inbox_id("bad")).await.unwrap();
    assert_eq!((bad.state, bad.failures), (InboxState::Staged, 0), "it is not its fault");
    assert_eq!(attempts(&fixture, "bad-2").await, 0, "a later one of the same sender stays behind it");
    back.store(true, Ordering::Relaxed);
    until("all is answered", async || sent(&fixture).await.len() == 5).await;
    assert_eq!(sent(&fixture).await[3..], ["to bad", "to bad-2"]);
    answering.stop().await;
}

#[tokio::test]
async fn unavailable_provider_is_retried_with_backoff() {
    let (script, back) = away_for(|_| true);
    let fixture = sovereign(script, AT_ONCE).await;
    for number in 0..30 {
        leave(&fixture, &format!("m-{number}"), &format!("0x{number}"), "hello").await;
    }
    let answering = InboxWorker::start(&fixture.agent);
    until("a probe", async || fixture.provider.requests().len() == 2).await;
    let probed = Instant::now();
    // New messages don't shorten the backoff.
    while probed.elapsed() < Duration::from_secs(1) {
        leave(&fixture, &format!("late-{}", probed.elapsed().as_nanos()), "0xlate", "hello?").await;
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(fixture.provider.requests().len(), 2);
    until("another try", async || fixture.provider.requests().len() == 3).await;
    back.store(true, Ordering::Relaxed);
    until("all is answered", async || fixture.store.staged(1).await.unwrap().is_empty()).await;
    assert!(probed.elapsed() > Duration::from_secs(4), "the second pause is longer than the first");
    answering.stop().await;
}

#[tokio::test]
async fn many_failing_messages_hide_no_sender() {
    let (script, _) = away_for(|request| read(request).contains("abracadabra"));
    let fixture = sovereign(script, AT_ONCE).await;
    for number in 0..300 {
        leave(&fixture, &format!("bad-{number}"), &format!("0x{}", number % 6), "abracadabra").await;
    }
    leave(&fixture, "good", "0xaa", "hello").await;
    // The five who wrote first, then the sixth; and then nothing is left among the oldest that has not failed.
    for _ in 0..2 {
        assert!(!fixture.agent.tick().await.unwrap().succeeded());
    }
    assert!(fixture.agent.tick().await.unwrap().succeeded());
    assert_eq!(sent(&fixture).await, ["to good"]);
}

#[tokio::test]
async fn retry_delay_holds_in_every_process() {
    let (script, back) = away_for(|_| true);
    let fixture = sovereign(script, AT_ONCE).await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    let failed = Instant::now();
    fixture.agent.tick().await.unwrap();
    back.store(true, Ordering::Relaxed);
    let node = fixture.another(crate::fixture::Setting::default()).await;
    let answering = InboxWorker::start(&node.agent);
    until("another answers it", async || !sent(&fixture).await.is_empty()).await;
    assert!(failed.elapsed() > Duration::from_secs(1), "not before its pause is over");
    answering.stop().await;
    node.agent.shut_down().await;
}
