//! The context of inbox turns and autonomous turns: the agent's state, pending messages, earlier exchanges with the
//! same senders, and recent notes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreword_core::id::{ConversationId, InboxId};
use foreword_core::memory_store::MemoryStore;
use foreword_core::sender::{InboxState, SenderAddress, SenderExchange, shorten};
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
use crate::conversation::inbound::{INBOX, Purpose};
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::scope::TurnScope;

/// How many exchanges with each sender are read; the compact form of the prompt shows fewer.
const MAX_EXCHANGES: u64 = 5;
/// How many notes are shown, and how many of the newest are searched for them.
const MAX_NOTES: usize = 10;
const MAX_NOTES_READ: u32 = 50;
const MAX_NOTE_CHARS: usize = 240;
/// How much of a long address is shown before its hash.
const MAX_ADDRESS_CHARS: usize = 80;

/// Adds the context to the request of an inbox turn or autonomous turn, if its prompt has a situation layer. Returns
/// the taint of the messages in its batch.
pub(crate) async fn add_inbox_context(
    shared: &Shared,
    scope: &TurnScope,
    config: &Config,
    request: &mut Request,
) -> Result<Taint, AgentError> {
    if !scope.origin.purpose.is_self_initiated() {
        return Ok(Taint::Clean);
    }
    let trust = request.principal(config).trust.effective();
    let messages = messages_of(shared, scope).await?;
    let mut taint = Taint::Clean;
    for message in &messages {
        taint.add(TaintSource::Outside(Origin::inbox(message.sender.as_str())));
    }
    // An inbox turn is always tainted, even if its messages are gone.
    if matches!(scope.origin.purpose, Purpose::Inbox { .. }) && !taint.is_tainted() {
        taint.add(TaintSource::History);
    }
    if has_situation_layer(config) {
        // Not in `context`, which templates read: this is untrusted text.
        let mut state = (**request.context).clone();
        state.extend(gather(shared, config, scope, trust, &messages).await?);
        request.state = Some(Arc::new(state));
    }
    Ok(taint)
}

/// The messages of an inbox turn's batch; empty for other turns.
pub(super) async fn messages_of(shared: &Shared, scope: &TurnScope) -> Result<Vec<InboxMessage>, AgentError> {
    match &scope.origin.purpose {
        Purpose::Inbox { messages } => Ok(shared.store.inbox_batch(messages).await?),
        _ => Ok(Vec::new()),
    }
}

/// The pending messages that an inbox turn must answer, with their senders; empty for other turns.
pub(crate) async fn obligations(
    shared: &Shared,
    scope: &TurnScope,
) -> Result<Vec<(InboxId, SenderAddress)>, AgentError> {
    let mut messages = messages_of(shared, scope).await?;
    messages.retain(|message| message.state == InboxState::Staged);
    Ok(messages.into_iter().map(|message| (message.id, message.sender)).collect())
}

/// Whether the blueprint has a situation layer.
pub(super) fn has_situation_layer(config: &Config) -> bool {
    config.blueprint.layers.iter().any(|layer| layer.source == Source::Dynamic(Dynamic::Situation))
}

/// Collects the context in the workspace's format.
pub(super) async fn gather(
    shared: &Shared,
    config: &Config,
    scope: &TurnScope,
    trust: Trust,
    waiting: &[InboxMessage],
) -> Result<Map<String, Value>, AgentError> {
    let purpose = &scope.origin.purpose;
    let mut lines = state(shared, config).await;
    lines.insert("turn_number".to_owned(), shared.store.count_turns().await?.into());
    lines.insert("state".to_owned(), turn_kind(purpose).into());
    let mut context = Map::new();
    if let Purpose::Inbox { .. } = purpose {
        let senders: BTreeSet<SenderAddress> = waiting.iter().map(|message| message.sender.clone()).collect();
        let history = shared.store.recent_exchanges(&senders, MAX_EXCHANGES).await?;
        context.insert("inbox".to_owned(), waiting.iter().map(message_json).collect());
        let history = history.iter().map(|(sender, exchanges)| exchanges_json(sender, exchanges));
        context.insert("history".to_owned(), history.collect());
    }
    let (notes, left_out) = notes(shared, scope, trust).await?;
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

fn turn_kind(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Inbox { .. } => "answering the inbox",
        _ => "a turn of your own",
    }
}

fn message_json(message: &InboxMessage) -> Value {
    json!({ "id": message.id.as_str(), "sender": shown_address(&message.sender), "text": message.body })
}

fn exchanges_json(sender: &SenderAddress, exchanges: &[SenderExchange]) -> Value {
    let exchange = |exchange: &SenderExchange| {
        let reply = exchange.reply.as_deref().unwrap_or("(answered together with another message)");
        json!({ "message": exchange.body, "reply": reply })
    };
    json!({ "sender": shown_address(sender), "exchanges": exchanges.iter().map(exchange).collect::<Vec<_>>() })
}

/// The address as the model reads it. Long ones are truncated; a hash keeps them distinct.
fn shown_address(sender: &SenderAddress) -> String {
    let address = sender.as_str();
    if single_line(address, usize::MAX).chars().count() <= OutsideName::MAX_CHARS {
        return address.to_owned();
    }
    let hash = ContentHash::of(address).to_string();
    let start: String = single_line(address, MAX_ADDRESS_CHARS);
    format!("{start} ({})", hash.chars().skip("blake3:".len()).take(16).collect::<String>())
}

/// The newest notes that this turn may read, and how many were skipped. An autonomous turn stays untainted, so it reads
/// no tainted notes. An inbox turn reads no notes about other batches.
async fn notes(shared: &Shared, scope: &TurnScope, trust: Trust) -> Result<(Vec<String>, usize), AgentError> {
    let stores = MemoryStore::permitted(trust);
    if stores.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let newest = shared.store.observations(&stores, None, MAX_NOTES_READ).await?;
    let mut batches: BTreeMap<ConversationId, bool> = BTreeMap::new();
    let (mut notes, mut left_out) = (Vec::new(), 0);
    for note in newest {
        if notes.len() >= MAX_NOTES {
            break;
        }
        let fits = match &scope.origin.purpose {
            Purpose::Alone => !note.tainted,
            _ => !note.tainted || !of_another_batch(shared, scope, &note, &mut batches).await?,
        };
        if fits {
            let text = format!("{}: {}", note.title, note.text);
            notes.push(shorten(&text, MAX_NOTE_CHARS).into_owned());
        } else {
            left_out += 1;
        }
    }
    Ok((notes, left_out))
}

/// Whether a note was written in another inbox conversation, or in a deleted one.
async fn of_another_batch(
    shared: &Shared,
    scope: &TurnScope,
    note: &Observation,
    known: &mut BTreeMap<ConversationId, bool>,
) -> Result<bool, AgentError> {
    let Some(id) = note.conversation.as_ref() else { return Ok(true) };
    if *id == scope.conversation {
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
