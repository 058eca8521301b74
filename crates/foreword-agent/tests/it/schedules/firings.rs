//! The actions, records and events of firings.

use foreword_core::event::Level;
use foreword_core::message::{Provenance, Role};
use foreword_core::schedule::FiringOutcome::{Done, Failed};
use foreword_prompt::trust::Trust;
use foreword_testkit::Reply;

use super::stage::{Stage, outcomes};

const DIGEST: &str = "digest: { cron: '0 * * * *', time_zone: UTC, prompt: Sum up the last hour. }";

#[tokio::test]
async fn s14_4_firing_is_logged_at_start_and_end() {
    let stage = Stage::new([Reply::text("All quiet.")], &[DIGEST]).await;
    let scheduler = stage.scheduler();
    stage.schedule("digest", |_| true).await;
    stage.clock.set("2026-11-16T09:00:00Z");
    let firings = stage.ended("digest", 1).await;
    scheduler.stop().await;
    assert_eq!(outcomes(&firings), [("16 09:00".to_owned(), Done)]);
    let log = stage.log().await;
    let names: Vec<&str> = log.iter().map(|event| event.event.event_type.line_name()).collect();
    assert_eq!(names, ["cron_start", "cron_end"]);
    // Seed 000 calls it `schedule_fired`.
    assert_eq!(log[0].event.event_type.as_str(), "schedule_fired");
    let [fired, ended] = [&log[0].event, &log[1].event];
    for event in [fired, ended] {
        assert_eq!(event.session_id.as_ref().unwrap().as_str(), "schedule-digest");
        assert_eq!(event.metadata.as_ref().unwrap()["jobId"], "digest");
    }
    assert_eq!(fired.metadata.as_ref().unwrap()["schedule"], "0 * * * *");
    assert_eq!(ended.metadata.as_ref().unwrap()["status"], "done");
    assert!(ended.duration_ms.is_some());
}

#[tokio::test]
async fn s15_8_failed_firing_is_logged_and_fires_next_time() {
    let replies = [Reply::status(401), Reply::status(401), Reply::text("All quiet.")];
    let stage = Stage::new(replies, &[DIGEST]).await;
    let scheduler = stage.scheduler();
    stage.schedule("digest", |_| true).await;
    let mut failures = Vec::new();
    for hour in 1..=3 {
        stage.clock.set(&format!("2026-11-16T{:02}:00:00Z", 8 + hour));
        stage.ended("digest", hour).await;
        failures.push(stage.schedule("digest", |_| true).await.record.consecutive_failures);
        stage.let_it_look().await;
    }
    scheduler.stop().await;
    let firings = stage.firings("digest").await;
    let hours = ["16 09:00", "16 10:00", "16 11:00"].map(str::to_owned);
    assert_eq!(outcomes(&firings), hours.into_iter().zip([Failed, Failed, Done]).collect::<Vec<_>>());
    assert_eq!(failures, [1, 2, 0]);
    assert!(
        firings[0].error.as_ref().unwrap().contains("check the provider's key"),
        "{:?}",
        firings[0].error
    );
    let log = stage.log().await;
    let errors: Vec<_> =
        log.iter().filter(|event| event.event.event_type.line_name() == "cron_error").collect();
    assert_eq!((errors.len(), errors[0].event.level), (2, Level::Error));
    assert_eq!(errors[1].event.metadata.as_ref().unwrap()["consecutiveFailures"], 2);
    assert!(errors[0].event.error.as_ref().unwrap().contains("401"), "{:?}", errors[0].event.error);
    assert_eq!(stage.provider.requests().len(), 3, "what failed is not tried again before it is due");
}

#[tokio::test]
async fn firing_runs_unattended_in_its_own_conversation() {
    let bobs = "bobs: { cron: '0 * * * *', prompt: What is new?, user: bob }";
    let stage = Stage::new([Reply::text("Nothing.")], &[bobs]).await;
    let scheduler = stage.scheduler();
    stage.schedule("bobs", |_| true).await;
    stage.clock.set("2026-11-16T09:00:20Z");
    let firings = stage.ended("bobs", 1).await;
    scheduler.stop().await;
    let said = stage.messages("bobs", Role::User).await;
    let message = &said[0].message;
    assert_eq!((said.len(), message.author.as_deref()), (1, Some("bob")));
    assert_eq!((message.trust, message.provenance), (Trust::Inner, Provenance::User));
    let links = &firings[0].links;
    assert_eq!(
        (links.conversation.as_ref(), links.message.as_ref()),
        (Some(&message.conversation), Some(&message.id))
    );
    let conversation = stage.node.store.conversation(&message.conversation).await.unwrap().unwrap();
    assert_eq!(
        (conversation.situation.as_str(), conversation.channel.as_deref()),
        ("system", Some("schedule:bobs"))
    );
}

#[tokio::test]
async fn thousand_schedules_due_together_fire_once_each() {
    let names: Vec<String> = (0..1_000).map(|number| format!("s{number:04}")).collect();
    // Without a HEARTBEAT.md there is nothing to say, so that only the firing itself is measured.
    let lines: Vec<String> =
        names.iter().map(|name| format!("{name}: {{ cron: '0 * * * *', heartbeat: true }}")).collect();
    let stage = Stage::new(Reply::status(500), &lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let scheduler = stage.scheduler();
    stage.schedule("s0999", |_| true).await;
    stage.clock.set("2026-11-16T09:00:00Z");
    let began = tokio::time::Instant::now();
    for name in &names {
        assert_eq!(stage.ended(name, 1).await.len(), 1, "{name}");
    }
    println!("1,000 firings ended {:?} after they were due", began.elapsed());
    stage.let_it_look().await;
    scheduler.stop().await;
    assert_eq!(stage.node.store.last_firings().await.unwrap().len(), 1_000);
    assert_eq!(stage.provider.requests().len(), 0);
}
