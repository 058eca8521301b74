//! The lateness of schedules that are all due in the same minute. The clock is set forward before each round, so that
//! no round waits for a minute.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use foreword_agent::background::schedules::{ScheduleEvent, Scheduler};
use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_core::event::EventType;
use foreword_core::schedule::FiringEnd;
use foreword_core::timestamp::Timestamp;
use foreword_store::events::{EventFilter, EventPage};
use jiff::{SignedDuration, Zoned};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::fixture::Life;
use super::schedules::{SCHEDULES, sample};
use crate::Outcome;
use crate::sample_workspace::open;
use crate::storage::database::{Database, Engine};
use crate::storage::spread::Spread;
use crate::table::Table;
use crate::timing::Comparison;

/// The number of prompts to the offline model.
const PROMPTS: usize = 100;
const ROUNDS: usize = 5;
/// How long before the minute a round begins.
const LEAD: Duration = Duration::from_secs(3);
/// The timeout of a round.
const ROUND_TIMEOUT: Duration = Duration::from_secs(50);
const MINUTE: i64 = 60_000_000;
const AIM: Duration = Duration::from_secs(1);

type Found<T> = Result<T, Box<dyn Error>>;

pub(crate) async fn measure(table: &mut Table, engine: &Engine) -> Outcome {
    let heartbeat = "{ cron: '* * * * *', heartbeat: true }";
    all_at_once(table, engine, SCHEDULES, heartbeat, "heartbeats that ask for nothing").await?;
    let prompt = "{ cron: '* * * * *', prompt: Good morning. }";
    all_at_once(table, engine, PROMPTS, prompt, "prompts, on the offline model").await
}

/// The system clock with an offset in microseconds.
struct Ahead(AtomicI64);

impl ClockAndRng for Ahead {
    fn now(&self) -> Zoned {
        &Zoned::now() + SignedDuration::from_micros(self.0.load(Ordering::SeqCst))
    }

    fn random(&self) -> u128 {
        Machine.random()
    }
}

impl Ahead {
    fn timestamp(&self) -> Timestamp {
        (self as &dyn ClockAndRng).timestamp()
    }

    /// Sets the clock to just before a minute, and returns that minute.
    fn approach_a_minute(&self) -> Timestamp {
        let now = self.timestamp().as_micros();
        let lead = LEAD.as_micros() as i64;
        let minute = ((now + lead) / MINUTE + 1) * MINUTE;
        self.0.fetch_add(minute - lead - now, Ordering::SeqCst);
        Timestamp::from_micros(minute)
    }
}

/// The lateness of firings.
#[derive(Default)]
struct Late {
    /// When they were claimed and announced.
    claimed: Vec<Duration>,
    /// When the log says that they fired.
    begun: Vec<Duration>,
    /// When their result was durable.
    ended: Vec<Duration>,
}

async fn all_at_once(table: &mut Table, engine: &Engine, count: usize, line: &str, what: &str) -> Outcome {
    let sample = sample(0, (0..count).map(|_| line.to_owned()))?;
    let database = Database::create(engine).await?;
    let clock = Arc::new(Ahead(AtomicI64::new(0)));
    let life = Life::begin(open(&sample)?, database.open().await?, Arc::clone(&clock) as _).await?;
    let (mut ours, mut theirs) = (Late::default(), Vec::new());
    for number in 0..=ROUNDS {
        let late = round(&life, &clock, count).await?;
        let bare = bare_round(count).await?;
        // The first round is a warm-up.
        if number > 0 {
            ours.claimed.extend(late.claimed);
            ours.begun.extend(late.begun);
            ours.ended.extend(late.ended);
            theirs.extend(bare);
        }
    }
    life.end().await?;
    database.remove().await?;
    table.note(&format!("  {count} due at the same minute, {ROUNDS} times: {what}"));
    let theirs = Spread::of(theirs);
    for (what, times) in [("claimed", ours.claimed), ("begun", ours.begun), ("ended", ours.ended)] {
        show(table, what, &Spread::of(times), &theirs);
    }
    Ok(())
}

fn show(table: &mut Table, what: &str, ours: &Spread, theirs: &Spread) {
    for (name, permille) in [("p50", 500), ("p99", 990), ("longest", 1_000)] {
        let (subject, peer) = (ours.permille(permille), theirs.permille(permille));
        let ratio = subject.as_secs_f64() / peer.as_secs_f64().max(1e-9);
        table.compare(&format!("    {what}, late by: {name}"), &Comparison { subject, peer, ratio }, None);
    }
    table.note(&format!("      {:.2} % within a second (aim: all)", ours.share_up_to(AIM) * 100.0));
}

/// One minute: the lateness of each firing.
async fn round(life: &Life, clock: &Ahead, count: usize) -> Found<Late> {
    let due = clock.approach_a_minute();
    let scheduler = Scheduler::start(&life.agent);
    let mut news = scheduler.events();
    let mut late = Late::default();
    while late.ended.len() < count {
        let heard = timeout(ROUND_TIMEOUT, news.recv()).await??;
        let by = clock.timestamp().since(due);
        match heard {
            ScheduleEvent::Fired { due_at, .. } if due_at == due => late.claimed.push(by),
            ScheduleEvent::Ended { end: FiringEnd::Failed { error }, .. } => return Err(error.into()),
            ScheduleEvent::Ended { due_at, .. } if due_at == due => late.ended.push(by),
            other => return Err(format!("not what was due at {due}: {other:?}").into()),
        }
    }
    scheduler.stop().await;
    life.events.flush().await?;
    let fired = EventFilter {
        event_type: Some(EventType::ScheduleFired),
        since: Some(due),
        ..EventFilter::default()
    };
    let events = life.store.events(&fired, &EventPage::newest(count as u64)).await?;
    late.begun = events.iter().map(|event| event.event.timestamp.since(due)).collect();
    if late.begun.len() != count || late.claimed.len() != count {
        return Err(format!("{} of {count} have fired", late.begun.len()).into());
    }
    Ok(late)
}

/// The peer: sleeps until the same time, then wakes as many tasks.
async fn bare_round(count: usize) -> Found<Vec<Duration>> {
    let due = Instant::now() + LEAD;
    sleep_until(due).await;
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        tasks.spawn(async move { due.elapsed() });
    }
    Ok(tasks.join_all().await)
}
