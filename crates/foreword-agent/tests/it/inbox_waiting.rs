//! Batches that keep failing while the agent runs: they wait by themselves and hold nobody up, and a provider that is away
//! for everybody is not asked once for every message.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foreword_agent::inbox::Answering;
use foreword_core::sender::InboxState;
use foreword_testkit::{Received, Reply, Script};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::inbox_scene::{has_results, inbox_id, leave, outbox, read, sovereign, waiting};
use crate::scene::Scene;

/// A batch is begun at once; a call that fails, fails its turn, although it could wait in a queue of its own.
const AT_ONCE: &str = "\
inbox: { gather_seconds: 0 }
retry: { max_retries: 0, requeue: { max_attempts: 5, delay_ms: 60000 } }
";

/// A provider that is away for what `fails` says, until it is told to be back; all else is answered.
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

async fn until(scene: &Scene, what: &str, is_so: impl AsyncFn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so().await {
        let inbox = scene.store.inbox_messages(None, 20).await.unwrap();
        assert!(Instant::now() < end, "{what}: {inbox:#?}");
        sleep(Duration::from_millis(10)).await;
    }
}

async fn attempts(scene: &Scene, id: &str) -> u64 {
    scene.store.inbox_message(&inbox_id(id)).await.unwrap().attempts
}

async fn sent(scene: &Scene) -> Vec<String> {
    outbox(&scene.store).await.into_iter().map(|(_, text)| text).collect()
}

#[tokio::test]
async fn while_the_provider_chokes_on_one_senders_words_all_others_are_answered() {
    let (script, back) = away_for(|request| read(request).contains("abracadabra"));
    let scene = sovereign(script, AT_ONCE).await;
    let answering = Answering::start(&scene.agent);
    leave(&scene, "bad", "0xmm", "abracadabra").await;
    until(&scene, "it fails", async || attempts(&scene, "bad").await == 1).await;
    let failed = Instant::now();
    leave(&scene, "bad-2", "0xmm", "and something else").await;
    for number in 1..=3 {
        leave(&scene, &format!("good-{number}"), &format!("0xa{number}"), "hello").await;
        until(&scene, "others are answered", async || sent(&scene).await.len() == number).await;
    }
    assert_eq!(sent(&scene).await, ["to good-1", "to good-2", "to good-3"]);
    // It was not tried in between, or its pause had been over.
    assert!(attempts(&scene, "bad").await == 1 || failed.elapsed() > Duration::from_secs(1));
    until(&scene, "it is tried again", async || attempts(&scene, "bad").await >= 2).await;
    assert!(failed.elapsed() > Duration::from_secs(1));
    let bad = scene.store.inbox_message(&inbox_id("bad")).await.unwrap();
    assert_eq!((bad.state, bad.failures), (InboxState::Staged, 0), "it is not its fault");
    assert_eq!(attempts(&scene, "bad-2").await, 0, "a later one of the same sender stays behind it");
    back.store(true, Ordering::Relaxed);
    until(&scene, "all is answered", async || sent(&scene).await.len() == 5).await;
    assert_eq!(sent(&scene).await[3..], ["to bad", "to bad-2"]);
    answering.stop().await;
}

#[tokio::test]
async fn a_provider_that_is_away_is_asked_twice_and_then_less_and_less_often() {
    let (script, back) = away_for(|_| true);
    let scene = sovereign(script, AT_ONCE).await;
    for number in 0..30 {
        leave(&scene, &format!("m-{number}"), &format!("0x{number}"), "hello").await;
    }
    let answering = Answering::start(&scene.agent);
    until(&scene, "a probe", async || scene.provider.requests().len() == 2).await;
    let probed = Instant::now();
    // Whoever writes now is no reason to ask more often.
    while probed.elapsed() < Duration::from_secs(1) {
        leave(&scene, &format!("late-{}", probed.elapsed().as_nanos()), "0xlate", "hello?").await;
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(scene.provider.requests().len(), 2);
    until(&scene, "another try", async || scene.provider.requests().len() == 3).await;
    back.store(true, Ordering::Relaxed);
    until(&scene, "all is answered", async || scene.store.staged(1).await.unwrap().is_empty()).await;
    assert!(probed.elapsed() > Duration::from_secs(4), "the second pause is longer than the first");
    answering.stop().await;
}

#[tokio::test]
async fn whoever_fills_the_inbox_with_what_fails_hides_nobody_behind_it() {
    let (script, _) = away_for(|request| read(request).contains("abracadabra"));
    let scene = sovereign(script, AT_ONCE).await;
    for number in 0..300 {
        leave(&scene, &format!("bad-{number}"), &format!("0x{}", number % 6), "abracadabra").await;
    }
    leave(&scene, "good", "0xaa", "hello").await;
    // The five who wrote first, then the sixth; and then nothing is left among the oldest that has not failed.
    for _ in 0..2 {
        assert!(!scene.agent.tick().await.unwrap().is_well());
    }
    assert!(scene.agent.tick().await.unwrap().is_well());
    assert_eq!(sent(&scene).await, ["to good"]);
}

#[tokio::test]
async fn what_waits_for_another_attempt_does_so_in_whichever_process() {
    let (script, back) = away_for(|_| true);
    let scene = sovereign(script, AT_ONCE).await;
    leave(&scene, "m-1", "0xaa", "hello").await;
    let failed = Instant::now();
    scene.agent.tick().await.unwrap();
    back.store(true, Ordering::Relaxed);
    let node = scene.another(crate::scene::Setting::default()).await;
    let answering = Answering::start(&node.agent);
    until(&scene, "another answers it", async || !sent(&scene).await.is_empty()).await;
    assert!(failed.elapsed() > Duration::from_secs(1), "not before its pause is over");
    answering.stop().await;
    node.agent.shut_down().await;
}
