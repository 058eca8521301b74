//! Choosing an inbox batch and building its layer, with 5 senders and with 500: the time must not depend on the other
//! senders.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foreword_agent::background::inbox::BatchPreview;
use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_core::event::{Event, EventType};
use foreword_core::sender::{BATCH_WINDOW, MAX_BATCH_SENDERS, SenderAddress};
use foreword_workspace::workspace::{Environment, Workspace};
use tempfile::TempDir;

use super::fixture::Life;
use crate::Outcome;
use crate::sample::prose;
use crate::storage::bare::Bare;
use crate::storage::database::{Database, Engine};
use crate::storage::{on_each_engine, start};
use crate::table::Table;
use crate::timing::Comparison;

/// The maximum ratio to a store with the batch's senders only.
const TARGET: f64 = 1.5;
const SENDERS: [(usize, &str); 3] = [(5, "5"), (50, "50"), (500, "500")];
/// Waiting messages and stored exchanges per sender.
const WAITING: usize = 20;
const EXCHANGES: usize = 20;
/// Messages per sender in a batch.
const TAKEN: usize = 4;
const TEXT_BYTES: usize = 300;
/// Model calls that the budget sums.
const CALLS: usize = 200;
/// Notes about other messages, which a batch does not include, and later ones that it does.
const NOTES: (usize, usize) = (40, 10);
const ROUNDS: usize = 300;
/// Warm-up rounds.
const WARM_UP: usize = 20;

const CONFIG: &str = "agent: { name: Assistant, blueprint: sovereign, model: offline/echo, state: { budget: { usd: 50 } } }\n\
    users:\n  - { name: alice, trust: full, match: [\"terminal:default\"] }\n\
    inbox: { trust: familiar }\n";

type Found<T> = Result<T, Box<dyn Error>>;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section(
        "A batch of the inbox picked, and its layer made",
        "the same where only the batch's 5 senders have written",
    );
    on_each_engine(table, async |table, engine| {
        let mut places = Vec::new();
        for (count, _) in SENDERS {
            places.push(Filled::with(engine, count).await?);
        }
        compare(table, &places).await?;
        for place in places {
            place.life.end().await?;
            place.database.remove().await?;
        }
        Ok(())
    })
}

/// An agent with messages from many senders.
struct Filled {
    database: Database,
    life: Life,
    _folder: TempDir,
}

impl Filled {
    async fn with(engine: &Engine, count: usize) -> Found<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("foreword.yaml"), CONFIG)?;
        let database = Database::create(engine).await?;
        let bare = database.connect().await?;
        fill(&bare, count).await?;
        let store = database.open().await?;
        store.add_events(&calls()).await?;
        bare.settle().await?;
        let workspace = Workspace::open(folder.path(), Environment::default())?;
        let life = Life::begin(workspace, store, Arc::new(Machine)).await?;
        let filled = Self { database, life, _folder: folder };
        filled.check().await?;
        Ok(filled)
    }

    /// Fails if the batches differ.
    async fn check(&self) -> Outcome {
        let preview = self.preview().await?.0;
        let told = preview.situation().ok_or("the prompt has no layer for it")?;
        let has = |number: usize| told.contains(&address(number));
        if preview.messages.len() != MAX_BATCH_SENDERS * TAKEN || !(0..MAX_BATCH_SENDERS).all(has) {
            return Err(format!("not the batch that was meant: {:?}", preview.messages).into());
        }
        if has(MAX_BATCH_SENDERS) || !told.contains("exchange 20") || !told.contains("note 9") {
            return Err("the layer does not tell what it should".into());
        }
        Ok(())
    }

    async fn preview(&self) -> Found<(BatchPreview, Duration)> {
        let begun = Instant::now();
        let preview = self.life.agent.preview_batch().await?;
        let time = begun.elapsed();
        Ok((preview.ok_or("nothing waits")?, time))
    }
}

fn address(number: usize) -> String {
    format!("0x{number:040x}")
}

/// A month of calls with prices.
fn calls() -> Vec<Event> {
    let now = (&Machine as &dyn ClockAndRng).timestamp();
    let call = Event { cost_usd: Some(0.01), ..Event::new(EventType::ApiCall, now) };
    vec![call; CALLS]
}

/// Writes the data of many senders: 20 exchanges with each, in turns that answered five messages; 20 waiting
/// messages, those of the next batch first; and the agent's notes.
async fn fill(bare: &Bare, count: usize) -> Outcome {
    let (at, text) = (start(), prose(TEXT_BYTES));
    let text = text.replace('\'', "''");
    let addresses: Vec<String> = (0..count).map(address).collect();
    bare.make_room().await?;
    bare.load_ids(&addresses).await?;
    bare.script("BEGIN").await?;
    bare.script(&format!(
        "INSERT INTO senders (address, first_seen, last_activity, next_seq)
         SELECT id, '{at}', '{at}', {EXCHANGES} + 1 FROM ids ORDER BY number"
    ))
    .await?;
    for seq in 1..=EXCHANGES {
        bare.script(&exchanges(seq, &at.to_string(), &text)).await?;
    }
    let own = format!("number < {MAX_BATCH_SENDERS}");
    for message in 0..WAITING {
        if message < TAKEN {
            bare.script(&waiting(message, &own, &at.to_string(), &text)).await?;
        }
    }
    for message in 0..WAITING {
        let which = if message < TAKEN { format!("NOT {own}") } else { "1 = 1".to_owned() };
        bare.script(&waiting(message, &which, &at.to_string(), &text)).await?;
    }
    notes(bare).await?;
    bare.script("COMMIT").await
}

/// One exchange with every sender, and the turns.
fn exchanges(seq: usize, at: &str, text: &str) -> String {
    format!(
        "INSERT INTO conversations (id, agent, situation, created_at, last_activity_at)
         SELECT 'c-' || number || '-{seq}', 'Assistant', 'inbox', '{at}', '{at}' FROM ids
         WHERE number % {MAX_BATCH_SENDERS} = 0 ORDER BY number;
         INSERT INTO turns (id, conversation_id, state, trust, fence, holder, started_at, ended_at)
         SELECT 't-' || number || '-{seq}', 'c-' || number || '-{seq}', 'done', 'familiar', 1, 'node', '{at}', '{at}'
         FROM ids WHERE number % {MAX_BATCH_SENDERS} = 0 ORDER BY number;
         INSERT INTO inbox (id, sender, body, received_at, state, turn_id, consumed_at)
         SELECT 'old-' || number || '-{seq}', id, '{text}', '{at}', 'consumed',
             't-' || (number - number % {MAX_BATCH_SENDERS}) || '-{seq}', '{at}' FROM ids ORDER BY number;
         INSERT INTO exchanges (sender, seq, inbox_message_id, sender_body, agent_reply, turn_id, timestamp)
         SELECT id, {seq}, 'old-' || number || '-{seq}', 'exchange {seq}: {text}', '{text}',
             't-' || (number - number % {MAX_BATCH_SENDERS}) || '-{seq}', '{at}' FROM ids ORDER BY number"
    )
}

fn waiting(message: usize, which: &str, at: &str, text: &str) -> String {
    format!(
        "INSERT INTO inbox (id, sender, body, received_at, state)
         SELECT 'new-' || number || '-{message}', id, '{text}', '{at}', 'staged' FROM ids WHERE {which} ORDER BY number"
    )
}

async fn notes(bare: &Bare) -> Outcome {
    let (others, own) = NOTES;
    for number in 0..others + own {
        let tainted = number < others;
        let conversation =
            if tainted { format!("'c-0-{}'", number % EXCHANGES + 1) } else { "NULL".to_owned() };
        // The first is the newest.
        let at = start().minus(Duration::from_secs(number as u64));
        let name = if tainted { format!("aside {number}") } else { format!("note {}", number - others) };
        bare.script(&format!(
            "INSERT INTO observations (id, store, title, text, trust, provenance, tainted, conversation_id, created_at)
             VALUES ('o-{number}', 'social', '{name}', 'What was said.', 'familiar', 'agent', {}, {conversation}, '{at}')",
            u8::from(tainted)
        ))
        .await?;
    }
    Ok(())
}

/// Previews the batch in each store alternately, and times its parts, to see which of them grows.
async fn compare(table: &mut Table, places: &[Filled]) -> Outcome {
    const PARTS: [&str; 4] =
        ["picked and made", "  of it: what waits", "  of it: history", "  of it: turn number"];
    let own = (0..MAX_BATCH_SENDERS).map(|number| SenderAddress::new(&address(number)));
    let own: BTreeSet<SenderAddress> = own.collect::<Result<_, _>>()?;
    let mut times: Vec<[Vec<Duration>; 4]> = places.iter().map(|_| Default::default()).collect();
    for round in 0..WARM_UP + ROUNDS {
        for (place, times) in places.iter().zip(&mut times) {
            let taken = parts(place, &own).await?;
            if round >= WARM_UP {
                times.iter_mut().zip(taken).for_each(|(times, time)| times.push(time));
            }
        }
    }
    let Some((alone, others)) = times.split_first() else { return Ok(()) };
    for (times, (_, count)) in others.iter().zip(&SENDERS[1..]) {
        for (part, what) in PARTS.iter().enumerate() {
            let rounds: Vec<_> = times[part].iter().copied().zip(alone[part].iter().copied()).collect();
            let aim = (part == 0).then_some(TARGET);
            table.compare(&format!("  {what}, {count} senders"), &Comparison::of(&rounds), aim);
        }
    }
    Ok(())
}

/// The total time, and the time of each read.
async fn parts(place: &Filled, own: &BTreeSet<SenderAddress>) -> Found<[Duration; 4]> {
    let (_, all) = place.preview().await?;
    let store = &place.life.store;
    let begun = Instant::now();
    store.waiting(BATCH_WINDOW).await?;
    let waiting = begun.elapsed();
    let begun = Instant::now();
    store.recent_exchanges(own, 5).await?;
    let history = begun.elapsed();
    let begun = Instant::now();
    store.count_turns().await?;
    Ok([all, waiting, history, begun.elapsed()])
}
