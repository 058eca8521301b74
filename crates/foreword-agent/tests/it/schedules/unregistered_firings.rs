//! Firings that are stored for a living node but don't run, because the connection failed after the claim.

use foreword_core::message::Role;
use foreword_core::schedule::{FiringOutcome, Timing};
use foreword_store::schedules::NewSchedule;
use foreword_testkit::Reply;

use super::stage::{MORNING, Stage};

const NEWS: &str = "news: { cron: '0 * * * *', time_zone: UTC, prompt: What is new? }";
const MORE: &str = "more: { cron: '0 * * * *', time_zone: UTC, prompt: What else? }";

#[tokio::test]
async fn unregistered_firing_is_resumed_by_its_own_node() {
    let stage = Stage::new(vec![Reply::text("One."); 4], &[NEWS, MORE]).await;
    let scheduler = stage.scheduler();
    stage.schedule("news", |_| true).await;
    let at = MORNING.parse().unwrap();
    let timing = Timing { cron: "0 * * * *".to_owned(), time_zone: "UTC".to_owned(), enabled: false };
    let gone = NewSchedule { name: "gone".to_owned(), timing, next_fire_at: None, at };
    stage.node.store.put_schedule(gone).await.unwrap();
    for name in ["gone", "more", "news"] {
        stage.node.store.begin_firing(name, "node-a".parse().unwrap(), at).await.unwrap().unwrap();
    }
    for (name, outcome) in
        [("gone", FiringOutcome::Failed), ("more", FiringOutcome::Done), ("news", FiringOutcome::Done)]
    {
        let firings = stage.ended(name, 1).await;
        assert_eq!((firings.len(), firings[0].outcome), (1, Some(outcome)), "{name}");
    }
    stage.clock.set("2026-11-16T09:00:00Z");
    stage.ended("news", 2).await;
    stage.ended("more", 2).await;
    scheduler.stop().await;
    assert_eq!(stage.messages("news", Role::User).await.len(), 2);
    assert_eq!(stage.provider.requests().len(), 4, "each is said once");
}

#[tokio::test]
async fn scheduler_ignores_requested_firings() {
    let slow = Reply::text("Slowly.").after(std::time::Duration::from_millis(500));
    let stage = Stage::new([slow, Reply::text("Twice.")], &[NEWS]).await;
    let scheduler = stage.scheduler();
    let mut news = scheduler.events();
    stage.schedule("news", |_| true).await;
    stage.node.agent.fire_now("news").await.unwrap();
    stage.let_it_look().await;
    scheduler.stop().await;
    assert!(news.try_recv().is_err(), "the scheduler has fired nothing");
    assert_eq!(stage.provider.requests().len(), 1);
}
