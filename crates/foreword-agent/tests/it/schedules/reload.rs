//! Schedules that are edited while the agent runs.

use foreword_core::schedule::FiringOutcome::Done;
use foreword_testkit::Reply;

use super::stage::{Stage, outcomes, short};

const HOURLY: &str = "news: { cron: '0 * * * *', prompt: What is new? }";

#[tokio::test]
async fn changed_schedules_apply_without_a_restart() {
    let stage =
        Stage::new(Reply::text("Nothing."), &[HOURLY, "old: { cron: '@hourly', prompt: Old. }"]).await;
    let scheduler = stage.scheduler();
    let before = stage.schedule("news", |_| true).await;
    assert_eq!(short(before.next_fire_at.unwrap()), "16 09:00");
    stage.configure(&[
        "news: { cron: '30 * * * *', prompt: What is new? }",
        "more: { cron: '@hourly', prompt: More. }",
    ]);
    let after = stage.schedule("news", |schedule| schedule.timing.cron == "30 * * * *").await;
    assert_eq!(short(after.next_fire_at.unwrap()), "16 08:30");
    stage.schedule("more", |_| true).await;
    stage.schedule("old", |schedule| !schedule.timing.enabled).await;
    stage.clock.set("2026-11-16T08:30:00Z");
    stage.ended("news", 1).await;
    stage.clock.set("2026-11-16T09:00:00Z");
    stage.ended("more", 1).await;
    stage.let_it_look().await;
    scheduler.stop().await;
    assert_eq!(outcomes(&stage.firings("news").await), [("16 08:30".to_owned(), Done)]);
    assert_eq!(stage.firings("old").await, []);
}

#[tokio::test]
async fn invalid_configuration_keeps_the_schedules() {
    let stage = Stage::new(Reply::text("Nothing."), &[HOURLY]).await;
    let scheduler = stage.scheduler();
    stage.schedule("news", |_| true).await;
    let mut told_of = stage.node.agent.watch_workspace();
    stage.configure(&["news: { cron: '0 0 30 2 *', prompt: Never. }"]);
    let refused = told_of.recv().await.unwrap();
    assert!(format!("{refused:?}").contains("never fires"), "{refused:?}");
    stage.clock.set("2026-11-16T09:00:00Z");
    let firings = stage.ended("news", 1).await;
    scheduler.stop().await;
    assert_eq!(outcomes(&firings), [("16 09:00".to_owned(), Done)]);
}
