//! What a turn of the agent's own life is told besides its prompt: how it stands, what waits, what was said before with
//! these senders and nobody else, and what it noted lately.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreword_core::id::{ConversationId, InboxId};
use foreword_core::memory_store::MemoryStore;
use foreword_core::sender::{Exchange, InboxState, SenderAddress, shorten};
use foreword_core::taint::{Taint, TaintSource};
use foreword_prompt::layer::{Dynamic, Source};
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::{Origin, OutsideName, single_line};
use foreword_store::mailboxes::InboxMessage;
use foreword_store::observations::Observation;
use foreword_workspace::config::Config;
use foreword_workspace::request::Request;
use serde_json::{Map, Value, json};

use super::state::state;
use crate::error::AgentError;
use crate::inbound::{INBOX, Purpose};
use crate::prepare::Placed;
use crate::shared::Shared;

/// How many exchanges with each sender are looked up; the compact form of the prompt shows fewer of them.
const EXCHANGES: u64 = 5;
/// How many notes are shown, and how many of the newest are looked through for them.
const NOTES: usize = 10;
const LOOKED_THROUGH: u32 = 50;
const NOTE_CHARS: usize = 240;
/// How much of a long address is shown in front of what tells it from others.
const LONG_ADDRESS: usize = 80;

/// Tells a turn of the agent's own life where it stands, if its prompt has a place for it. Gives what it has read with
/// that: the words of every sender of its batch.
pub(crate) async fn situate(
    shared: &Shared,
    placed: &Placed,
    config: &Config,
    request: &mut Request,
) -> Result<Taint, AgentError> {
    if !super::is_own_words(&placed.occasion.purpose) {
        return Ok(Taint::Clean);
    }
    let trust = request.identify(config).trust.effective();
    let messages = messages_of(shared, placed).await?;
    let mut taint = Taint::Clean;
    for message in &messages {
        taint.add(TaintSource::Outside(Origin::inbox(message.sender.as_str())));
    }
    // Whatever has become of its messages, such a turn is never clean.
    if matches!(placed.occasion.purpose, Purpose::Inbox { .. }) && !taint.is_tainted() {
        taint.add(TaintSource::History);
    }
    if has_place(config) {
        // Not into `context`, which templates read: these are texts of others.
        let mut state = (*request.context).clone();
        state.extend(gather(shared, config, placed, (trust, &messages)).await?);
        request.state = Some(Arc::new(state));
    }
    Ok(taint)
}

/// The messages of the batch that a turn is for; none, if it is for something else.
pub(super) async fn messages_of(shared: &Shared, placed: &Placed) -> Result<Vec<InboxMessage>, AgentError> {
    match &placed.occasion.purpose {
        Purpose::Inbox { messages } => Ok(shared.store.inbox_batch(messages).await?),
        _ => Ok(Vec::new()),
    }
}

/// The pending messages that the turn has to answer, each with its sender; none, if it is for something else.
pub(crate) async fn obligations(
    shared: &Shared,
    placed: &Placed,
) -> Result<Vec<(InboxId, SenderAddress)>, AgentError> {
    let mut messages = messages_of(shared, placed).await?;
    messages.retain(|message| message.state == InboxState::Staged);
    Ok(messages.into_iter().map(|message| (message.id, message.sender)).collect())
}

/// Whether the prompt has a layer for all this.
pub(super) fn has_place(config: &Config) -> bool {
    config.blueprint.layers.iter().any(|layer| layer.source == Source::Dynamic(Dynamic::Situation))
}

/// Everything there is to tell, as the workspace reads it.
pub(super) async fn gather(
    shared: &Shared,
    config: &Config,
    placed: &Placed,
    (trust, waiting): (Trust, &[InboxMessage]),
) -> Result<Map<String, Value>, AgentError> {
    let purpose = &placed.occasion.purpose;
    let mut lines = state(shared, config).await;
    lines.insert("turn_number".to_owned(), shared.store.count_turns().await?.into());
    lines.insert("state".to_owned(), doing(purpose).into());
    let mut context = Map::new();
    if let Purpose::Inbox { .. } = purpose {
        let senders: BTreeSet<SenderAddress> = waiting.iter().map(|message| message.sender.clone()).collect();
        let history = shared.store.recent_exchanges(&senders, EXCHANGES).await?;
        context.insert("inbox".to_owned(), waiting.iter().map(obligation).collect());
        context.insert("history".to_owned(), history.iter().map(past).collect());
    }
    let (notes, left_out) = notes(shared, placed, trust).await?;
    if left_out > 0 {
        lines.insert(
            "notes_left_out".to_owned(),
            format!("{left_out}, from turns that had read text from outside").into(),
        );
    }
    context.insert("memory".to_owned(), notes.into());
    context.insert("state".to_owned(), lines.into());
    context.insert("calls_left".to_owned(), config.limits.tool_calls.into());
    Ok(context)
}

fn doing(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Inbox { .. } => "answering the inbox",
        _ => "a turn of your own",
    }
}

fn obligation(message: &InboxMessage) -> Value {
    json!({ "id": message.id.as_str(), "sender": shown(&message.sender), "text": message.body })
}

fn past((sender, exchanges): (&SenderAddress, &Vec<Exchange>)) -> Value {
    let exchange = |exchange: &Exchange| {
        let reply = exchange.reply.as_deref().unwrap_or("(answered together with another message)");
        json!({ "message": exchange.body, "reply": reply })
    };
    json!({ "sender": shown(sender), "exchanges": exchanges.iter().map(exchange).collect::<Vec<_>>() })
}

/// A sender as the model reads it. Long addresses are cut, and two of them must never look like one.
fn shown(sender: &SenderAddress) -> String {
    let address = sender.as_str();
    if single_line(address, usize::MAX).chars().count() <= OutsideName::MAX_CHARS {
        return address.to_owned();
    }
    let hash = ContentHash::of(address).to_string();
    let start: String = single_line(address, LONG_ADDRESS);
    format!("{start} ({})", hash.chars().skip("blake3:".len()).take(16).collect::<String>())
}

/// The newest notes that this turn may read, and how many were passed over. A turn of its own stays clean: it reads
/// nothing that was noted after reading text from outside. One that answers the inbox reads nothing that was noted over
/// other people's messages.
async fn notes(shared: &Shared, placed: &Placed, trust: Trust) -> Result<(Vec<String>, usize), AgentError> {
    let stores = MemoryStore::permitted(trust);
    if stores.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let newest = shared.store.observations(&stores, None, LOOKED_THROUGH).await?;
    let mut batches: BTreeMap<ConversationId, bool> = BTreeMap::new();
    let (mut notes, mut left_out) = (Vec::new(), 0);
    for note in newest {
        if notes.len() >= NOTES {
            break;
        }
        let fits = match &placed.occasion.purpose {
            Purpose::Alone => !note.tainted,
            _ => !note.tainted || !of_another_batch(shared, placed, &note, &mut batches).await?,
        };
        if fits {
            let text = format!("{}: {}", note.title, note.text);
            notes.push(shorten(&text, NOTE_CHARS).into_owned());
        } else {
            left_out += 1;
        }
    }
    Ok((notes, left_out))
}

/// Whether a note was made over messages of another batch, or in a conversation that is gone.
async fn of_another_batch(
    shared: &Shared,
    placed: &Placed,
    note: &Observation,
    known: &mut BTreeMap<ConversationId, bool>,
) -> Result<bool, AgentError> {
    let Some(id) = note.conversation.as_ref() else { return Ok(true) };
    if *id == placed.conversation {
        return Ok(false);
    }
    if let Some(known) = known.get(id) {
        return Ok(*known);
    }
    let conversation = shared.store.conversation(id).await?;
    let of_inbox = conversation.is_none_or(|found| found.situation == INBOX);
    known.insert(id.clone(), of_inbox);
    Ok(of_inbox)
}
