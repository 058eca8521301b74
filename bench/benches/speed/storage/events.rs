//! Events through the queue, compared with a loop of bare `INSERT`s: the throughput, and the cost of recording for
//! the caller.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foreword_core::event::Event;
use foreword_store::events::{EventQueue, QueueConfig};
use foreword_store::store::Store;

use super::bare::Bare;
use super::sample_events::{self, EventRow};
use super::spread::Spread;
use super::{Found, on_each_engine, start, with_database};
use crate::Outcome;
use crate::table::{Table, readable};
use crate::timing::Comparison;

/// The maximum ratio to a bare `INSERT`.
const TARGET: f64 = 0.1;
const ROUNDS: usize = 5;
/// Nearly the capacity of the queue.
const BURST: usize = 8_000;
/// The peer's share of a round: each insert waits for the disk.
const SINGLE: usize = 250;
/// The peer's transaction size, equal to the queue's batch. It then inserts the rest of a burst, so that both tables
/// have the same size.
const TOGETHER: usize = 512;
/// Events recorded one by one on a clock.
const RECORDED: usize = 100_000;
/// Recording waits until all but the last so many events are durable.
const STRETCH: usize = 2_000;
/// Events recorded at a pace, each after a multiple of the time it takes to write one.
const PACED: usize = 20_000;
const PACE: u32 = 2;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Events", "one bare INSERT per event, same library, tables, indexes and durability");
    on_each_engine(table, async |table, engine| {
        let found = with_database(engine, async |ours| {
            let store = ours.open().await?;
            with_database(engine, async |theirs| throughput(table, &store, &theirs.connect().await?).await)
                .await
        });
        let found = found.await?;
        with_database(engine, async |database| callers_path(table, &database.open().await?, &found).await)
            .await
    })
}

/// The results of the first part.
struct Throughput {
    /// The time it takes to write an event through the queue.
    queued: Duration,
    /// The times of single `INSERT`s.
    singles: Spread,
}

/// Writes through the queue and with the peer alternately.
async fn throughput(table: &mut Table, store: &Store, bare: &Bare) -> Found<Throughput> {
    let (mut alone, mut together, mut singles) = (Vec::new(), Vec::new(), Vec::new());
    let queue = queue(store);
    for round in 0..=ROUNDS {
        let events = sample_events::events((round * BURST) as u64, BURST, start())?;
        let rows: Vec<EventRow> = events.iter().map(EventRow::from).collect();
        let ours = queued(&queue, events).await?;
        let (first, rest) = rows.split_at(SINGLE);
        let mut times = one_by_one(bare, first).await?;
        let one_of_many = in_transactions(bare, rest).await?;
        // The first round fills caches and prepares statements.
        if round > 0 {
            alone.push((ours, times.iter().sum::<Duration>() / SINGLE as u32));
            together.push((ours, one_of_many));
            singles.append(&mut times);
        }
    }
    lossless(&queue).await?;
    let (alone, together) = (Comparison::of(&alone), Comparison::of(&together));
    table.compare("  written through the queue, per event", &alone, Some(TARGET));
    table.compare(&format!("  the same; peer: transactions of {TOGETHER}"), &together, None);
    table.note(&format!(
        "  {} events a second, {:.0} times as many as the peer's {}",
        per_second(alone.subject),
        1.0 / alone.ratio,
        per_second(alone.peer),
    ));
    Ok(Throughput { queued: alone.subject, singles: Spread::of(singles) })
}

/// The times of `INSERT`s in their own transactions.
async fn one_by_one(bare: &Bare, rows: &[EventRow]) -> Found<Vec<Duration>> {
    let mut times = Vec::with_capacity(rows.len());
    for row in rows {
        let begun = Instant::now();
        bare.insert_event(row).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

/// The time per event in larger transactions.
async fn in_transactions(bare: &Bare, rows: &[EventRow]) -> Found<Duration> {
    let begun = Instant::now();
    for rows in rows.chunks(TOGETHER) {
        bare.script("BEGIN").await?;
        for row in rows {
            bare.insert_event(row).await?;
        }
        bare.script("COMMIT").await?;
    }
    Ok(begun.elapsed() / rows.len() as u32)
}

/// The time per event until all are durable.
async fn queued(queue: &EventQueue, events: Vec<Event>) -> Found<Duration> {
    let count = events.len() as u32;
    let begun = Instant::now();
    for event in events {
        queue.record(event);
    }
    queue.flush().await?;
    Ok(begun.elapsed() / count)
}

/// The cost of recording, at full speed and at a pace.
async fn callers_path(table: &mut Table, store: &Store, found: &Throughput) -> Outcome {
    let queue = queue(store);
    queued(&queue, sample_events::events(0, BURST, start())?).await?;
    let busy = at_full_speed(&queue).await?;
    let pace = found.queued * PACE;
    let paced = at_a_pace(&queue, pace).await?;
    lossless(&queue).await?;
    for (what, times) in [("at full speed", &busy), (&format!("every {}", readable(pace)), &paced)] {
        for (name, share) in [("p50", 500), ("p99", 990), ("p99.9", 999)] {
            let subject = times.permille(share);
            let comparison = Comparison::of(&[(subject, found.singles.median())]);
            table.compare(&format!("  record, {what}, {name}"), &comparison, None);
        }
    }
    table.note(&format!(
        "  aim: p99 under 5 µs; longest {} and {}; reading the clock takes {} of each",
        readable(busy.longest()),
        readable(paced.longest()),
        readable(clock()),
    ));
    Ok(())
}

/// Records without a pause except for the queue to catch up, so that the worker is always busy.
async fn at_full_speed(queue: &EventQueue) -> Found<Spread> {
    let mut times = Vec::with_capacity(RECORDED);
    let mut unwritten = VecDeque::new();
    for stretch in 0..RECORDED / STRETCH {
        for event in sample_events::events((stretch * STRETCH) as u64, STRETCH, start())? {
            times.push(record(queue, event));
        }
        let queue = queue.clone();
        unwritten.push_back(tokio::spawn(async move { queue.flush().await }));
        if unwritten.len() > 2
            && let Some(oldest) = unwritten.pop_front()
        {
            oldest.await??;
        }
    }
    queue.flush().await?;
    Ok(Spread::of(times))
}

async fn at_a_pace(queue: &EventQueue, pace: Duration) -> Found<Spread> {
    let mut times = Vec::with_capacity(PACED);
    let mut next = Instant::now();
    for number in 0..PACED as u64 {
        // Created on the way, as by a caller.
        for event in sample_events::events(number, 1, start())? {
            // Sleeping would take longer than this.
            while Instant::now() < next {
                std::hint::spin_loop();
            }
            times.push(record(queue, event));
        }
        next = Instant::now() + pace;
    }
    queue.flush().await?;
    Ok(Spread::of(times))
}

fn record(queue: &EventQueue, event: Event) -> Duration {
    let begun = Instant::now();
    queue.record(event);
    begun.elapsed()
}

/// The cost of reading the clock.
fn clock() -> Duration {
    Spread::of((0..10_000).map(|_| Instant::now().elapsed()).collect()).median()
}

/// The default queue, without pruning.
fn queue(store: &Store) -> EventQueue {
    let config = QueueConfig { retention: None, ..QueueConfig::default() };
    EventQueue::start(store.clone(), Arc::new(start), config)
}

/// Closes a queue. Fails if it has lost events, which would invalidate its speed.
async fn lossless(queue: &EventQueue) -> Outcome {
    queue.close().await;
    match queue.dropped() {
        0 => Ok(()),
        dropped => Err(format!("the queue has lost {dropped} events").into()),
    }
}

fn per_second(time: Duration) -> u64 {
    (1.0 / time.as_secs_f64()) as u64
}
