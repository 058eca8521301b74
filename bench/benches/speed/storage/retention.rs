//! A million events, half of them expired: the effect of pruning in batches on writers, compared with no pruning and
//! with a single `DELETE`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foreword_core::id::{ConversationId, MessageId};
use foreword_core::message::{ContentBlock, Kind, NewMessage, Provenance, Role};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::NewConversation;
use foreword_store::error::StoreError;
use foreword_store::events::{EventQueue, QueueConfig, RetentionConfig};
use foreword_store::store::Store;

use super::database::Database;
use super::sample_events;
use super::spread::Spread;
use super::{Found, on_each_engine, start, with_database};
use crate::Outcome;
use crate::table::Table;
use crate::timing::Comparison;

const EVENTS: usize = 1_000_000;
/// Events per load batch.
const CHUNK: usize = 10_000;
/// How long writers are measured.
const WATCHED: Duration = Duration::from_secs(8);
/// The batch size of the measured writer.
const BURST: usize = 512;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Retention: 1,000,000 events, 500,000 of them old", "writers without pruning");
    on_each_engine(table, async |table, engine| {
        with_database(engine, async |database| {
            fill(database).await?;
            let copy = database.copy().await?;
            let sliced = sliced(table, database).await?;
            let at_once = at_once(table, &copy, &sliced).await;
            copy.remove().await?;
            at_once
        })
        .await
    })
}

fn config() -> RetentionConfig {
    RetentionConfig::default()
}

/// The expiry time, in the middle of the events.
fn cutoff() -> Timestamp {
    config().cutoff(start())
}

async fn fill(database: &Database) -> Outcome {
    let store = database.open().await?;
    let half = EVENTS / 2;
    let old = cutoff().minus(Duration::from_secs(30 * 24 * 60 * 60));
    for first in (0..EVENTS).step_by(CHUNK) {
        let from = if first < half { old } else { cutoff() };
        store.add_events(&sample_events::events(first as u64, CHUNK, from)?).await?;
    }
    store.create_conversation(NewConversation::new(conversation()?, "Assistant", "direct", start())).await?;
    store.close().await?;
    database.connect().await?.settle().await
}

fn conversation() -> Found<ConversationId> {
    Ok(ConversationId::new("signal:group-7")?)
}

/// The measurements while pruning in batches.
struct Sliced {
    slices: Spread,
    seen: Seen,
}

async fn sliced(table: &mut Table, database: &Database) -> Found<Sliced> {
    let store = database.open().await?;
    let ((), alone) = while_writing(&store, async {
        tokio::time::sleep(WATCHED).await;
        Ok(())
    })
    .await?;
    let ((slices, pruned), seen) = while_writing(&store, prune(&store)).await?;
    let against = |subject, peer| Comparison::of(&[(subject, peer)]);
    table.compare("  events written, per event", &against(seen.per_event, alone.per_event), None);
    for (name, share) in [("p50", 500), ("p99", 990), ("longest", 1_000)] {
        let comparison = against(seen.waits.permille(share), alone.waits.permille(share));
        table.compare(&format!("  a message accepted, {name}"), &comparison, None);
    }
    let rate = pruned as f64 / WATCHED.as_secs_f64();
    table.note(&format!(
        "  pruned {pruned} in {} slices, {rate:.0} a second: {:.0} s for all; {} messages, {} without pruning",
        slices.count(),
        (EVENTS / 2) as f64 / rate,
        seen.waits.count(),
        alone.waits.count(),
    ));
    store.close().await?;
    Ok(Sliced { slices, seen })
}

/// Prunes as the queue does, for a limited time.
async fn prune(store: &Store) -> Found<(Spread, u64)> {
    let (config, begun) = (config(), Instant::now());
    let (mut times, mut total) = (Vec::new(), 0);
    while begun.elapsed() < WATCHED {
        let slice = Instant::now();
        let pruned = store.prune_events(cutoff(), config.slice).await?;
        times.push(slice.elapsed());
        total += pruned.count;
        if !pruned.more {
            return Err("there are too few old events to prune for so long".into());
        }
        tokio::time::sleep(config.pause).await;
    }
    Ok((Spread::of(times), total))
}

/// The same with a single `DELETE`.
async fn at_once(table: &mut Table, database: &Database, sliced: &Sliced) -> Outcome {
    let store = database.open().await?;
    let bare = database.connect().await?;
    let delete = format!("DELETE FROM events WHERE timestamp < '{}'", cutoff());
    let (time, seen) = while_writing(&store, async {
        let begun = Instant::now();
        bare.script(&delete).await?;
        let time = begun.elapsed();
        // Its deferred work counts too.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(time)
    })
    .await?;
    let against = |subject, peer| Comparison::of(&[(subject, peer)]);
    table.note("  peer: one bare DELETE of all 500,000, with the same writers");
    table.compare("  a slice of 500, median", &against(sliced.slices.median(), time), None);
    table.compare("  a slice of 500, longest", &against(sliced.slices.longest(), time), None);
    let waits = against(sliced.seen.waits.longest(), seen.waits.longest());
    table.compare("  a message accepted, longest", &waits, None);
    let p99 = against(sliced.seen.waits.permille(990), seen.waits.permille(990));
    table.compare("  a message accepted, p99", &p99, None);
    if seen.refused > 0 {
        table.note(&format!(
            "  meanwhile {} attempts to accept a message were refused because the database was locked",
            seen.refused
        ));
    }
    store.close().await?;
    Ok(())
}

/// The measurements of the writers.
struct Seen {
    /// The time per event at full speed.
    per_event: Duration,
    /// The times of accepting a message.
    waits: Spread,
    /// How often accepting failed and was retried.
    refused: usize,
}

/// Runs `work` while one task writes events and another accepts messages, both at full speed.
async fn while_writing<T>(store: &Store, work: impl Future<Output = Found<T>>) -> Found<(T, Seen)> {
    let stop = Arc::new(AtomicBool::new(false));
    let events = tokio::spawn(write_events(store.clone(), Arc::clone(&stop)));
    let messages = tokio::spawn(accept_messages(store.clone(), Arc::clone(&stop)));
    let done = work.await;
    stop.store(true, Ordering::Relaxed);
    let per_event = events.await?.map_err(|error| format!("events: {error}"))?;
    let (waits, refused) = messages.await?.map_err(|error| format!("messages: {error}"))?;
    Ok((done?, Seen { per_event, waits: Spread::of(waits), refused }))
}

async fn write_events(store: Store, stop: Arc<AtomicBool>) -> Result<Duration, String> {
    let config = QueueConfig { retention: None, ..QueueConfig::default() };
    let queue = EventQueue::start(store, Arc::new(start), config);
    let (begun, mut count) = (Instant::now(), 0);
    while !stop.load(Ordering::Relaxed) {
        let burst = sample_events::events((EVENTS + count) as u64, BURST, cutoff());
        burst.map_err(|error| error.to_string())?.into_iter().for_each(|event| queue.record(event));
        queue.flush().await.map_err(|error| error.to_string())?;
        count += BURST;
    }
    let time = begun.elapsed() / count.max(1) as u32;
    queue.close().await;
    if queue.dropped() > 0 { Err("some were lost".to_owned()) } else { Ok(time) }
}

async fn accept_messages(store: Store, stop: Arc<AtomicBool>) -> Result<(Vec<Duration>, usize), String> {
    let (mut waits, mut refused) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let new = message().map_err(|error| error.to_string())?;
        let begun = Instant::now();
        loop {
            match store.accept(new.clone(), None).await {
                Ok(_) => break,
                Err(StoreError::Locked { .. }) => refused += 1,
                Err(error) => return Err(error.to_string()),
            }
        }
        waits.push(begun.elapsed());
    }
    Ok((waits, refused))
}

/// A new message.
fn message() -> Found<NewMessage> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    Ok(NewMessage {
        id: MessageId::new(format!("message-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))?,
        conversation: conversation()?,
        role: Role::User,
        kind: Kind::Message,
        content: vec![ContentBlock::text("What did we say about the kitchen yesterday?")],
        trust: Trust::Familiar,
        provenance: Provenance::User,
        author: Some("bob".to_owned()),
        turn: None,
        usage: None,
        at: start(),
    })
}
