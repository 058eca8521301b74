//! Opening a conversation in a store with one and with a hundred thousand: the reads of a turn must not slow down
//! with the number of conversations.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, NewMessage, Provenance, Role};
use foreword_prompt::epoch::{Dependencies, EpochTriggers, HardDependencies};
use foreword_prompt::layer::{Authority, Stability};
use foreword_prompt::prompt::{CacheClass, SegmentStatus};
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::{ConversationPage, NewConversation};
use foreword_store::epochs::{CurrentEpoch, FrozenBlock, FrozenLayer, FrozenPrompt, ProposedEpoch};
use foreword_store::messages::MessagePage;
use foreword_store::store::Store;

use super::bare::Bare;
use super::database::{Database, Engine};
use super::spread::Spread;
use super::{Found, on_each_engine, start};
use crate::Outcome;
use crate::sample::prose;
use crate::table::{Table, readable};
use crate::timing::Comparison;

/// The maximum ratio to a store with one conversation.
const TARGET: f64 = 1.5;
const COUNTS: [(usize, &str); 3] = [(1, "1"), (1_000, "1,000"), (100_000, "100,000")];
const TEXT_BYTES: usize = 16 * 1024;
/// Frozen texts that conversations share.
const TEXTS: usize = 16;
const MESSAGES: u64 = 6;
const PAGE: u32 = 20;
const ROUNDS: usize = 1_000;
/// Warm-up rounds.
const WARM_UP: usize = 100;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Opening a conversation, 16 KB frozen", "the same where there is one conversation");
    on_each_engine(table, async |table, engine| {
        let mut places = Vec::new();
        for (count, _) in COUNTS {
            places.push(Filled::with(engine, count).await?);
        }
        compare(table, &places).await?;
        for place in places {
            place.database.remove().await?;
        }
        Ok(())
    })
}

/// A database with a number of conversations.
struct Filled {
    database: Database,
    store: Store,
    conversations: Vec<ConversationId>,
}

impl Filled {
    async fn with(engine: &Engine, count: usize) -> Found<Self> {
        let names: Vec<String> =
            (0..count).map(|number| ContentHash::of(&number.to_string()).to_string()).collect();
        // The distinct part of the hash.
        let names: Vec<String> = names.iter().map(|name| name[name.len() - 32..].to_owned()).collect();
        let conversations = names.iter().map(ConversationId::new).collect::<Result<Vec<_>, _>>()?;
        let database = Database::create(engine).await?;
        let store = database.open().await?;
        let by_hand = count.min(TEXTS);
        for (number, id) in conversations.iter().take(by_hand).enumerate() {
            converse(&store, id, number).await?;
        }
        let bare = database.connect().await?;
        multiply(&bare, &names, by_hand).await?;
        bare.settle().await?;
        Ok(Self { database, store, conversations })
    }

    /// A different conversation in each round, in random order.
    fn in_round(&self, round: usize) -> (usize, &ConversationId) {
        let number = round * 7_919 % self.conversations.len();
        (number, &self.conversations[number])
    }
}

/// Creates one conversation through the store.
async fn converse(store: &Store, id: &ConversationId, number: usize) -> Outcome {
    store.create_conversation(NewConversation::new(id.clone(), "Assistant", "direct", start())).await?;
    store.epoch_for(proposed(id, number)).await?;
    for seq in 1..=MESSAGES {
        let asks = seq % 2 == 1;
        let new = NewMessage {
            id: MessageId::new(format!("{id}-{seq}"))?,
            conversation: id.clone(),
            role: if asks { Role::User } else { Role::Assistant },
            kind: Kind::Message,
            content: vec![ContentBlock::text(prose(200))],
            trust: Trust::Full,
            provenance: if asks { Provenance::User } else { Provenance::Agent },
            author: asks.then(|| "alice".to_owned()),
            turn: Some(TurnId::new(format!("{id}-turn-{}", seq / 2))?),
            usage: None,
            at: start(),
        };
        store.accept(new, None).await?;
    }
    Ok(())
}

/// Copies the existing conversations, with their messages interleaved as if all had been active at the same time.
async fn multiply(bare: &Bare, ids: &[String], by_hand: usize) -> Outcome {
    bare.make_room().await?;
    bare.load_ids(ids).await?;
    bare.script("BEGIN").await?;
    for (number, model) in ids.iter().take(by_hand).enumerate() {
        let like = format!("ids.number >= {by_hand} AND ids.number % {TEXTS} = {number} ORDER BY ids.number");
        bare.script(&format!(
            "INSERT INTO conversations
                 (id, agent, user_id, channel, situation, created_at, last_activity_at, next_seq)
             SELECT ids.id, agent, 'user-' || (ids.number % 500), 'signal', situation, created_at,
                 last_activity_at, next_seq
             FROM ids, conversations WHERE conversations.id = '{model}' AND {like};
             INSERT INTO epochs (conversation_id, number, trust, text_hash, built_from, dependencies, blocks, layers,
                 layer_versions, template_version, reason, tokens, opened_at)
             SELECT ids.id, epochs.number, trust, text_hash, built_from, dependencies, blocks, layers,
                 layer_versions, template_version, reason, tokens, opened_at
             FROM ids, epochs WHERE conversation_id = '{model}' AND {like}"
        ))
        .await?;
    }
    let model = ids.first().ok_or("no ids")?;
    for seq in 1..=MESSAGES {
        bare.script(&format!(
            "INSERT INTO messages (conversation_id, seq, id, role, kind, content, trust, provenance, author, turn_id,
                 created_at)
             SELECT ids.id, seq, ids.id || '-' || seq, role, kind, content, trust, provenance, author,
                 ids.id || '-turn', created_at
             FROM ids, messages WHERE conversation_id = '{model}' AND seq = {seq} AND ids.number >= {by_hand}
             ORDER BY ids.number"
        ))
        .await?;
    }
    bare.script("COMMIT").await
}

/// Opens one conversation in each database alternately.
async fn compare(table: &mut Table, places: &[Filled]) -> Outcome {
    let mut opened: Vec<Vec<Duration>> = vec![Vec::new(); places.len()];
    let mut reused = opened.clone();
    for round in 0..WARM_UP + ROUNDS {
        for (which, place) in places.iter().enumerate() {
            let (number, id) = place.in_round(round);
            let open_time = open(&place.store, id).await?;
            let reuse_time = reuse(&place.store, proposed(id, number)).await?;
            if round >= WARM_UP {
                opened[which].push(open_time);
                reused[which].push(reuse_time);
            }
        }
    }
    for (what, times) in [("conversation, epoch, messages", opened), ("epoch_for", reused)] {
        let Some((one, others)) = times.split_first() else { continue };
        for (times, (_, count)) in others.iter().zip(&COUNTS[1..]) {
            let rounds: Vec<_> = times.iter().copied().zip(one.iter().copied()).collect();
            table.compare(&format!("  {what}, one of {count}"), &Comparison::of(&rounds), Some(TARGET));
        }
    }
    if let Some(largest) = places.last() {
        table.note(&format!("  listing the newest 50 of 100,000: {}", readable(list(&largest.store).await?)));
    }
    Ok(())
}

/// The reads at the start of a turn.
async fn open(store: &Store, id: &ConversationId) -> Found<Duration> {
    let begun = Instant::now();
    let conversation = store.conversation(id).await?;
    let epoch = store.epoch(id, Trust::Full, Some("alice")).await?;
    let messages = store.all_messages(id, MessagePage::newest(PAGE)).await?;
    let time = begun.elapsed();
    let text = epoch.map(|epoch| epoch.prompt.text.len());
    if conversation.is_none() || text != Some(TEXT_BYTES) || messages.len() as u64 != MESSAGES {
        return Err(format!("conversation `{id}` is not as it was made").into());
    }
    Ok(time)
}

async fn reuse(store: &Store, proposed: ProposedEpoch) -> Found<Duration> {
    let begun = Instant::now();
    let in_force = store.epoch_for(proposed).await?;
    let time = begun.elapsed();
    match in_force {
        CurrentEpoch::Reused { .. } => Ok(time),
        CurrentEpoch::Opened(_) => Err("an epoch was opened that was there".into()),
    }
}

async fn list(store: &Store) -> Found<Duration> {
    let mut times = Vec::new();
    for _ in 0..101 {
        let begun = Instant::now();
        store.conversations(ConversationPage::first(50)).await?;
        times.push(begun.elapsed());
    }
    Ok(Spread::of(times).median())
}

/// The prompt of a conversation: one of a few texts, in ten layers.
fn proposed(conversation: &ConversationId, number: usize) -> ProposedEpoch {
    let mut text = format!("You are assistant number {}.\n", number % TEXTS);
    text.push_str(&prose(TEXT_BYTES - text.len()));
    let part = text.len() / 10;
    let layers = (0..10).map(|layer| FrozenLayer {
        id: format!("layer-{layer}"),
        title: format!("Layer {layer}"),
        authority: Authority::Identity,
        stability: Stability::Agent,
        trust: Trust::Public,
        source: "file".to_owned(),
        origin: Some("AGENTS.md".to_owned()),
        status: SegmentStatus::Included,
        range: layer * part..(layer + 1) * part,
        separator: 0,
        tokens: 400,
        hash: ContentHash::of(&text),
        cut: None,
    });
    let layers: Vec<FrozenLayer> = layers.collect();
    let block = FrozenBlock {
        class: CacheClass::Agent,
        range: 0..text.len(),
        layers: layers.iter().map(|layer| layer.id.clone()).collect(),
        tokens: 4_000,
    };
    ProposedEpoch {
        conversation: conversation.clone(),
        dependencies: Dependencies {
            hard: HardDependencies {
                trust: Trust::Full,
                agent: "Assistant".into(),
                blueprint: "gateway".into(),
                cwd: "/home/alice".into(),
                tools: ContentHash::of("tools"),
                channel_family: Some("signal".into()),
                model_family: "claude".into(),
                personal_to: Some("alice".into()),
                session_instructions: None,
                context: None,
            },
            soft: layers.iter().map(|layer| (layer.id.as_str().into(), layer.hash)).collect(),
        },
        prompt: FrozenPrompt { text: text.into(), tokens: 4_000, blocks: vec![block], layers },
        triggers: EpochTriggers::default(),
        layer_versions: BTreeMap::new(),
        template_version: None,
        at: start(),
    }
}
