//! Picking a batch of the inbox and making the layer that tells of it, with 5 senders and with 500: what a turn is told
//! must not take longer because others have written too.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foreword_agent::inbox::Preview;
use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_core::event::{Event, EventType};
use foreword_core::sender::{BATCH_SENDERS, BATCH_WINDOW, SenderAddress};
use foreword_workspace::workspace::{Environment, Workspace};
use tempfile::TempDir;

use super::scene::Life;
use crate::Outcome;
use crate::sample::prose;
use crate::storage::bare::Bare;
use crate::storage::database::{Database, Engine};
use crate::storage::{on_each_engine, start};
use crate::table::Table;
use crate::timing::Comparison;

/// At most this many times as long as with the batch's own senders alone.
const TARGET: f64 = 1.5;
const SENDERS: [(usize, &str); 3] = [(5, "5"), (50, "50"), (500, "500")];
/// Messages of each sender that wait, and exchanges with each that are kept.
const WAITING: usize = 20;
const EXCHANGES: usize = 20;
/// Messages of each sender that a batch takes.
const TAKEN: usize = 4;
const TEXT_BYTES: usize = 300;
/// Calls to a model that the budget has to add up.
const CALLS: usize = 200;
/// Notes made over other messages, which a batch is not shown, and behind them those that it is.
const NOTES: (usize, usize) = (40, 10);
const ROUNDS: usize = 300;
/// Rounds that are not counted.
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

/// An agent that so many people have written to.
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

    /// Whether the batch is what it is said to be: the same in every place.
    async fn check(&self) -> Outcome {
        let preview = self.preview().await?.0;
        let told = preview.situation().ok_or("the prompt has no layer for it")?;
        let has = |number: usize| told.contains(&address(number));
        if preview.messages.len() != BATCH_SENDERS * TAKEN || !(0..BATCH_SENDERS).all(has) {
            return Err(format!("not the batch that was meant: {:?}", preview.messages).into());
        }
        if has(BATCH_SENDERS) || !told.contains("exchange 20") || !told.contains("note 9") {
            return Err("the layer does not tell what it should".into());
        }
        Ok(())
    }

    async fn preview(&self) -> Found<(Preview, Duration)> {
        let begun = Instant::now();
        let preview = self.life.agent.preview_batch().await?;
        let time = begun.elapsed();
        Ok((preview.ok_or("nothing waits")?, time))
    }
}

fn address(number: usize) -> String {
    format!("0x{number:040x}")
}

/// A month's calls, each with its price.
fn calls() -> Vec<Event> {
    let now = (&Machine as &dyn Surroundings).timestamp();
    let call = Event { cost_usd: Some(0.01), ..Event::new(EventType::ApiCall, now) };
    vec![call; CALLS]
}

/// Writes what so many senders leave behind: 20 exchanges with each, in turns that answered five of them together; 20
/// messages that wait, first those of the next batch and then everybody's in turns; and the agent's notes.
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
    let own = format!("number < {BATCH_SENDERS}");
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

/// One exchange with everybody, and the turns it happened in.
fn exchanges(seq: usize, at: &str, text: &str) -> String {
    format!(
        "INSERT INTO conversations (id, agent, situation, created_at, last_activity_at)
         SELECT 'c-' || number || '-{seq}', 'Assistant', 'inbox', '{at}', '{at}' FROM ids
         WHERE number % {BATCH_SENDERS} = 0 ORDER BY number;
         INSERT INTO turns (id, conversation_id, state, trust, fence, holder, started_at, ended_at)
         SELECT 't-' || number || '-{seq}', 'c-' || number || '-{seq}', 'done', 'familiar', 1, 'node', '{at}', '{at}'
         FROM ids WHERE number % {BATCH_SENDERS} = 0 ORDER BY number;
         INSERT INTO inbox (id, sender, body, received_at, state, turn_id, consumed_at)
         SELECT 'old-' || number || '-{seq}', id, '{text}', '{at}', 'consumed',
             't-' || (number - number % {BATCH_SENDERS}) || '-{seq}', '{at}' FROM ids ORDER BY number;
         INSERT INTO exchanges (sender, seq, inbox_message_id, sender_body, agent_reply, turn_id, timestamp)
         SELECT id, {seq}, 'old-' || number || '-{seq}', 'exchange {seq}: {text}', '{text}',
             't-' || (number - number % {BATCH_SENDERS}) || '-{seq}', '{at}' FROM ids ORDER BY number"
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

/// Previews the batch in each place in turns; and what is read for it, part by part, to see what grows if something does.
async fn compare(table: &mut Table, places: &[Filled]) -> Outcome {
    const PARTS: [&str; 4] =
        ["picked and made", "  of it: what waits", "  of it: history", "  of it: turn number"];
    let own = (0..BATCH_SENDERS).map(|number| SenderAddress::new(&address(number)));
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

/// How long everything takes, and what is read for it, each by itself.
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
