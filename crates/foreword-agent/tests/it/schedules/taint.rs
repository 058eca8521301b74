//! Schedules that read untrusted text: the taint of one firing does not affect later ones.

use foreword_agent::background::schedules::Scheduler;
use foreword_core::id::ConversationId;
use foreword_core::schedule::FiringOutcome;
use foreword_store::schedules::Firing;
use foreword_testkit::{FakeProvider, Reply, until};
use serde_json::json;
use std::time::Duration;

use super::stage::{LOOK, Stage};

const DIGEST: &str = "digest: { cron: '0 * * * *', time_zone: UTC, prompt: Look at the notes. }";

fn read() -> Reply {
    Reply::tool_call("read_file", json!({ "path": "notes.txt" }))
}

fn write(file: &str) -> Reply {
    Reply::tool_call("bash", json!({ "command": format!("echo written > {file}") }))
}

async fn stage(replies: Vec<Reply>) -> Stage {
    let stage = Stage::new(replies, &[DIGEST]).await;
    std::fs::write(stage.folder.path().join("notes.txt"), "Somebody else wrote this.\n").unwrap();
    stage
}

fn place(firing: &Firing) -> &str {
    firing.links.conversation.as_ref().map_or("nowhere", ConversationId::as_str)
}

async fn asked(provider: &FakeProvider, times: usize) {
    provider.until(|counts| counts.requests >= times).await;
}

#[tokio::test]
async fn tainted_firing_leaves_the_next_one_its_tools() {
    let done = || Reply::text("Done.");
    let replies =
        vec![read(), write("first"), done(), write("second"), done(), done(), read(), done(), done()];
    let stage = stage(replies).await;
    let scheduler = stage.scheduler();
    stage.schedule("digest", |_| true).await;
    for hour in 1..=5 {
        stage.clock.set(&format!("2026-11-16T{:02}:00:00Z", 8 + hour));
        stage.ended("digest", hour).await;
    }
    // The end is logged once it is durable.
    until("five ends in the log", async || stage.log().await.len() >= 10).await;
    scheduler.stop().await;
    let firings = stage.firings("digest").await;
    assert!(firings.iter().all(|firing| firing.outcome == Some(FiringOutcome::Done)), "{firings:?}");
    let note = firings[0].note.as_deref().unwrap();
    assert!(note.starts_with("bash was blocked: ") && note.contains("sensitive"), "{note}");
    assert!(firings[1..].iter().all(|firing| firing.note.is_none()), "{firings:?}");
    let there = |file: &str| stage.folder.path().join(file).exists();
    assert_eq!((there("first"), there("second")), (false, true));
    let (second, fifth) =
        ("schedule-digest@2026-11-16T10:00:00.000000Z", "schedule-digest@2026-11-16T13:00:00.000000Z");
    // What bash gives is from outside as well, so that the third begins anew; nothing is read there, and the fourth
    // stays.
    let third = "schedule-digest@2026-11-16T11:00:00.000000Z";
    let places: Vec<&str> = firings.iter().map(place).collect();
    assert_eq!(places, ["schedule-digest", second, third, third, fifth]);
    let log = stage.log().await;
    let sessions = log.iter().map(|event| event.event.session_id.as_ref().unwrap().as_str());
    let expected = places.iter().flat_map(|place| [*place; 2]);
    assert_eq!(sessions.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn requested_firing_leaves_a_tainted_conversation() {
    let stage = stage(vec![read(), Reply::text("One."), write("second"), Reply::text("Two.")]).await;
    stage.node.agent.fire_now("digest").await.unwrap();
    stage.clock.set("2026-11-16T08:10:00Z");
    let mut second = stage.node.agent.begin_fire_now("digest").await.unwrap();
    let conversation = second.feed.take().unwrap().conversation;
    assert_eq!(conversation.as_str(), "schedule-digest@2026-11-16T08:10:00.000000Z");
    second.ended().await.unwrap();
    assert_eq!(stage.firings("digest").await[1].links.conversation, Some(conversation));
    assert!(stage.folder.path().join("second").exists());
}

#[tokio::test]
async fn interrupted_firing_is_resumed_in_its_new_conversation() {
    let slow = Reply::text("Slowly.").after(Duration::from_secs(30));
    let stage = stage(vec![read(), Reply::text("One."), slow, Reply::text("Here.")]).await;
    stage.node.agent.fire_now("digest").await.unwrap();
    let scheduler = stage.scheduler();
    stage.schedule("digest", |_| true).await;
    stage.clock.set("2026-11-16T09:00:00Z");
    asked(&stage.provider, 3).await;
    scheduler.stop().await;
    stage.node.agent.shut_down().await;
    stage.clock.set("2026-11-16T09:01:00Z");
    let other = stage.another("node-b").await;
    other.agent.recover().await.unwrap();
    let scheduler = Scheduler::start_with_interval(&other.agent, LOOK);
    let firings = stage.ended("digest", 2).await;
    scheduler.stop().await;
    assert_eq!((firings.len(), firings[1].outcome), (2, Some(FiringOutcome::Done)));
    assert_eq!(place(&firings[1]), "schedule-digest@2026-11-16T09:00:00.000000Z");
}
