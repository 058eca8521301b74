//! A thousand schedules: their CPU time while none is due, and their lateness when all are.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::background::inbox::InboxWorker;
use foreword_agent::background::schedules::{ScheduleEvent, Scheduler};
use foreword_agent::clock_and_rng::Machine;
use foreword_agent::conversation::inbound::{Inbound, TurnOrigin};
use foreword_core::id::ConversationId;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::fixture::Life;
use super::lateness;
use crate::Outcome;
use crate::sample::{Sample, Scale};
use crate::sample_workspace::open;
use crate::storage::database::{Database, Engine};
use crate::storage::on_each_engine;
use crate::table::Table;
use crate::timing::Comparison;

pub(crate) const SCHEDULES: usize = 1_000;
/// The measuring time: the scheduler's longest sleep, so that it wakes at least once.
const STRETCH: Duration = Duration::from_secs(30);
/// The settling time: until the scheduler has woken once.
const SETTLE: Duration = Duration::from_secs(35);
const PEER_SETTLE: Duration = Duration::from_secs(1);
const AIM_PERCENT: f64 = 0.1;
const MINUTES_OF_A_DAY: usize = 24 * 60;

type Found<T> = Result<T, Box<dyn Error>>;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("1,000 schedules", "a bare tokio loop that sleeps to the same due times");
    on_each_engine(table, async |table, engine| {
        let peer = idle_peer().await?;
        table.note("  processor time in 30 s in which nothing is to be done");
        for (schedules, memories) in [(0, 0), (SCHEDULES, 0), (SCHEDULES, Scale::BASE.memories)] {
            let (subject, fired) = idle(engine, schedules, memories).await?;
            let ratio = subject.as_secs_f64() / peer.as_secs_f64();
            let what = format!("    {schedules} schedules, {memories} memory files");
            table.compare(&what, &Comparison { subject, peer, ratio }, None);
            table.note(&format!(
                "      {:.3} % of a core (aim: under {AIM_PERCENT} %), {fired} fired meanwhile; peer {:.4} %",
                percent(subject),
                percent(peer)
            ));
        }
        lateness::measure(table, engine).await
    })
}

fn percent(time: Duration) -> f64 {
    time.as_secs_f64() / STRETCH.as_secs_f64() * 100.0
}

/// The CPU time of this process so far.
fn processor_time() -> Found<Duration> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Ok(Duration::new(time.tv_sec.try_into()?, time.tv_nsec.try_into()?))
}

/// The sample workspace with schedules from these lines.
pub(crate) fn sample(memories: usize, lines: impl Iterator<Item = String>) -> Found<Sample> {
    let sample = Sample::write(Scale { memories, ..Scale::BASE })?;
    let mut config = "agent: { name: Assistant, blueprint: gateway, model: offline/echo }\n\
        users:\n  - { name: alice, trust: full, match: [\"terminal:default\"] }\n"
        .to_owned();
    for (number, line) in lines.enumerate() {
        if number == 0 {
            config.push_str("schedules:\n");
        }
        writeln!(config, "  s{number:04}: {line}")?;
    }
    std::fs::write(sample.path().join("foreword.yaml"), config)?;
    // An empty heartbeat file, so that only the scheduler is measured.
    std::fs::write(sample.path().join("HEARTBEAT.md"), "# Heartbeat\n")?;
    Ok(sample)
}

/// The minute of the day at which each schedule is due.
fn minutes() -> impl Iterator<Item = usize> {
    (0..SCHEDULES).map(|number| number * MINUTES_OF_A_DAY / SCHEDULES)
}

/// The CPU time of an idle agent as in `foreword run`, after its first turn, and the number of firings.
async fn idle(engine: &Engine, schedules: usize, memories: usize) -> Found<(Duration, usize)> {
    let line = |minute| format!("{{ cron: '{} {} * * *', heartbeat: true }}", minute % 60, minute / 60);
    let sample = sample(memories, minutes().take(schedules).map(line))?;
    let database = Database::create(engine).await?;
    let life = Life::begin(open(&sample)?, database.open().await?, Arc::new(Machine)).await?;
    life.agent.recover().await?;
    let scheduler = Scheduler::start(&life.agent);
    let answering = InboxWorker::start(&life.agent);
    // After a build the agent watches files.
    let conversation = ConversationId::new("terminal:default")?;
    let text = "Good morning.".to_owned();
    life.agent.ask(Inbound { conversation, origin: TurnOrigin::default(), text, key: None }).await?;
    sleep(SETTLE).await;
    let mut news = scheduler.events();
    let (before, end) = (processor_time()?, Instant::now() + STRETCH);
    let mut fired = 0;
    while let Ok(heard) = timeout_at(end, news.recv()).await {
        fired += usize::from(matches!(heard?, ScheduleEvent::Fired { .. }));
    }
    let time = processor_time()?.saturating_sub(before);
    answering.stop().await;
    scheduler.stop().await;
    life.end().await?;
    database.remove().await?;
    Ok((time, fired))
}

/// The same time with a bare timer loop.
async fn idle_peer() -> Found<Duration> {
    let task = tokio::spawn(async {
        let begun = Instant::now();
        // The same intervals as the schedules.
        for minute in minutes().skip(1) {
            sleep_until(begun + Duration::from_secs(60 * minute as u64)).await;
        }
    });
    sleep(PEER_SETTLE).await;
    let before = processor_time()?;
    sleep(STRETCH).await;
    let time = processor_time()?.saturating_sub(before);
    task.abort();
    Ok(time)
}
