//! Missed firings, long firings and clock jumps.

use std::time::Duration;

use foreword_core::message::Role;
use foreword_core::schedule::FiringOutcome::{Done, Skipped};
use foreword_testkit::Reply;

use super::stage::{Stage, outcomes, short};

const HOURLY: &str = "hourly: { cron: '0 * * * *', prompt: What is new? }";
const SKIPPING: &str = "hourly: { cron: '0 * * * *', prompt: What is new?, missed: skip }";

fn done(times: &[&str]) -> Vec<(String, foreword_core::schedule::FiringOutcome)> {
    times.iter().map(|time| ((*time).to_owned(), Done)).collect()
}

/// The schedule is stored, then no node runs until ten past two.
async fn away(schedule: &str) -> Stage {
    let stage = Stage::new(Reply::text("Nothing."), &[schedule]).await;
    let scheduler = stage.scheduler();
    stage.schedule("hourly", |_| true).await;
    scheduler.stop().await;
    stage.clock.set("2026-11-16T14:10:00Z");
    stage
}

#[tokio::test]
async fn missed_firings_catch_up_once() {
    let stage = away(HOURLY).await;
    let scheduler = stage.scheduler();
    stage.ended("hourly", 1).await;
    stage.let_it_look().await;
    stage.clock.set("2026-11-16T15:00:00Z");
    let firings = stage.ended("hourly", 2).await;
    scheduler.stop().await;
    assert_eq!(outcomes(&firings), done(&["16 09:00", "16 15:00"]));
    assert_eq!(stage.messages("hourly", Role::User).await.len(), 2);
}

#[tokio::test]
async fn missed_firings_are_skipped_if_configured() {
    let stage = away(SKIPPING).await;
    let scheduler = stage.scheduler();
    stage.ended("hourly", 1).await;
    // A delay of less than a minute does not count as missed.
    stage.clock.set("2026-11-16T15:00:59Z");
    let firings = stage.ended("hourly", 2).await;
    scheduler.stop().await;
    assert_eq!(outcomes(&firings), [("16 09:00".to_owned(), Skipped), ("16 15:00".to_owned(), Done)]);
    assert!(firings[0].note.as_ref().unwrap().contains("missed"));
    assert_eq!(stage.provider.requests().len(), 1);
    let log = stage.log().await;
    assert_eq!(log[0].event.metadata.as_ref().unwrap()["status"], "skipped");
}

#[tokio::test]
async fn firings_due_during_a_running_one_are_merged() {
    let slow = Reply::text("Slowly.").after(Duration::from_secs(1));
    let often = "often: { cron: '* * * * *', prompt: What is new? }";
    let stage = Stage::new([slow, Reply::text("Quickly."), Reply::text("Quickly.")], &[often]).await;
    let scheduler = stage.scheduler();
    stage.schedule("often", |_| true).await;
    stage.clock.set("2026-11-16T08:01:00Z");
    stage.provider.until(|counts| counts.requests == 1).await;
    for minute in 2..=4 {
        stage.clock.set(&format!("2026-11-16T08:{minute:02}:00Z"));
        stage.clock.until_read(2).await;
    }
    assert_eq!(stage.firings("often").await.len(), 1, "one at a time");
    let firings = stage.ended("often", 2).await;
    stage.let_it_look().await;
    scheduler.stop().await;
    assert_eq!(outcomes(&firings), done(&["16 08:01", "16 08:02"]));
    assert_eq!(stage.firings("often").await.len(), 2);
}

#[tokio::test]
async fn clock_set_back_fires_nothing_twice() {
    let stage = Stage::new(Reply::text("Nothing."), &[HOURLY]).await;
    let scheduler = stage.scheduler();
    stage.schedule("hourly", |_| true).await;
    for hour in ["09", "10"] {
        stage.clock.set(&format!("2026-11-16T{hour}:00:00Z"));
        stage.ended("hourly", if hour == "09" { 1 } else { 2 }).await;
    }
    for time in ["08:30:00", "08:59:59", "09:00:00", "09:30:00", "10:00:00", "10:30:00"] {
        stage.clock.set(&format!("2026-11-16T{time}Z"));
        stage.let_it_look().await;
    }
    assert_eq!(stage.firings("hourly").await.len(), 2);
    stage.clock.set("2026-11-16T11:00:00Z");
    let firings = stage.ended("hourly", 3).await;
    scheduler.stop().await;
    assert_eq!(outcomes(&firings), done(&["16 09:00", "16 10:00", "16 11:00"]));
    assert_eq!(stage.messages("hourly", Role::User).await.len(), 3);
}

#[tokio::test]
async fn clock_set_ahead_temporarily_silences_no_schedule() {
    let stage = Stage::new(Reply::text("Nothing."), &[HOURLY]).await;
    let scheduler = stage.scheduler();
    stage.schedule("hourly", |_| true).await;
    stage.clock.set("2027-11-16T12:30:00Z");
    stage.ended("hourly", 1).await;
    stage.schedule("hourly", |schedule| schedule.next_fire_at.unwrap().to_string().starts_with("2027")).await;
    stage.clock.set("2026-11-16T12:30:00Z");
    let put_right = stage
        .schedule("hourly", |schedule| schedule.next_fire_at.unwrap().to_string().starts_with("2026"))
        .await;
    assert_eq!(short(put_right.next_fire_at.unwrap()), "16 13:00");
    stage.clock.set("2026-11-16T13:00:01Z");
    let firings = stage.ended("hourly", 2).await;
    scheduler.stop().await;
    assert_eq!(outcomes(&firings), done(&["16 09:00", "16 13:00"]));
}

#[tokio::test]
async fn daylight_saving_changes_fire_once_each() {
    let night = "night: { cron: '30 2 * * *', time_zone: Europe/Berlin, prompt: Are you awake? }";
    let stage = Stage::new(Reply::text("Yes."), &[night]).await;
    stage.clock.set("2027-03-27T12:00:00Z");
    let scheduler = stage.scheduler();
    stage.schedule("night", |_| true).await;
    // The clock goes from two to three at one o'clock UTC; in autumn back from three to two, at the same time.
    for (time, count) in [
        ("2027-03-28T00:59:59Z", 0),
        ("2027-03-28T01:00:00Z", 1),
        ("2027-03-28T01:30:00Z", 1),
        ("2027-10-30T00:30:00Z", 2),
        ("2027-10-31T00:30:00Z", 3),
        ("2027-10-31T01:30:00Z", 3),
    ] {
        stage.clock.set(time);
        stage.ended("night", count).await;
        stage.let_it_look().await;
        assert_eq!(stage.firings("night").await.len(), count, "{time}");
    }
    scheduler.stop().await;
    let due: Vec<_> = stage.firings("night").await.iter().map(|firing| short(firing.due_at)).collect();
    assert_eq!(due, ["28 01:00", "29 00:30", "31 00:30"]);
}
