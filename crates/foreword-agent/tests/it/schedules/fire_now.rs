//! Firings on request.

use foreword_agent::error::AgentError;
use foreword_core::message::Role;
use foreword_core::schedule::{FiringEnd, FiringOutcome};
use foreword_testkit::Reply;

use super::stage::Stage;

const SCHEDULES: [&str; 2] = [
    "news: { cron: '0 * * * *', prompt: What is new? }",
    "off: { cron: '0 * * * *', prompt: What is new?, enabled: false }",
];

#[tokio::test]
async fn requested_firing_keeps_the_next_due_time() {
    let stage = Stage::new([Reply::text("One."), Reply::status(401), Reply::text("Two.")], &SCHEDULES).await;
    let agent = &stage.node.agent;
    let fired = agent.fire_now("news").await.unwrap();
    assert_eq!(fired.end, FiringEnd::Done { note: None });
    let news = stage.schedule("news", |_| true).await;
    assert_eq!(news.next_fire_at.unwrap().to_string(), "2026-11-16T09:00:00.000000Z");
    stage.clock.set("2026-11-16T08:10:00Z");
    let failed = agent.fire_now("news").await.unwrap();
    assert_eq!(failed.end.outcome(), FiringOutcome::Failed);
    assert_eq!(stage.schedule("news", |_| true).await.record.consecutive_failures, 1);
    let off = agent.fire_now("off").await.unwrap();
    assert_eq!(off.end, FiringEnd::Done { note: None });
    assert_eq!(stage.schedule("off", |_| true).await.next_fire_at, None);
    assert_eq!(stage.firings("news").await.len(), 2);
    assert_eq!(stage.messages("news", Role::User).await.len(), 2);
    let unknown = agent.fire_now("nothing").await.unwrap_err();
    assert!(matches!(unknown, AgentError::NoSchedule(_)), "{unknown}");
}

#[tokio::test]
async fn requested_firing_does_not_replace_the_due_one() {
    let stage = Stage::new(Reply::text("One."), &SCHEDULES).await;
    let scheduler = stage.scheduler();
    stage.schedule("news", |_| true).await;
    stage.node.agent.fire_now("news").await.unwrap();
    stage.clock.set("2026-11-16T09:00:00Z");
    assert_eq!(stage.ended("news", 2).await.len(), 2);
    scheduler.stop().await;
}
