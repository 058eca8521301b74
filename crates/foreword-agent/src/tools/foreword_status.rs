//! `foreword_status`: how the agent is running right now. The owner sees every channel and conversation; everybody else
//! sees the conversation they are in. Says where nothing is kept, only in what kind of store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::memory_store::MemoryStore;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::single_line;
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventPage};
use serde_json::{Map, Value};

use super::event_line::{event_line, has_free_text, is_a_name, moment};
use super::limits::counted;
use super::own_events::{newest, sees_everything};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

/// What counts as now.
const LATELY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many events of a kind, and how many conversations, are looked at.
const LOOKED_AT: u32 = 1_000;
/// How many conversations are listed.
const LISTED: usize = 10;
/// How many errors are shown.
const ERRORS: usize = 10;
/// How much of a name is shown.
const NAME_CHARS: usize = 120;

/// Tells how things stand.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForewordStatus;

impl Tool for ForewordStatus {
    fn name(&self) -> &'static str {
        "foreword_status"
    }

    fn has_side_effects(&self) -> bool {
        false
    }

    fn run(&self, _arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        Box::pin(async move {
            match status(&call).await {
                Ok(output) => output,
                Err(error) => {
                    ToolOutput::failed(format!("the store can't be read: {error}; {}", error.help()))
                }
            }
        })
    }
}

async fn status(call: &ToolCall) -> Result<ToolOutput, StoreError> {
    let mut lines = Vec::new();
    // Names that others gave themselves may say more than a name does.
    let mut names = Vec::new();
    if sees_everything(call) {
        lines.push(running(call).await?);
        lines.extend(channels(call, &mut names).await?);
        lines.extend(conversations(call, &mut names).await?);
    } else {
        lines.extend(this_conversation(call, &mut names).await?);
    }
    lines.push(memory(call).await?);
    let errors = EventFilter { levels: vec![Level::Error], ..EventFilter::default() };
    let errors = newest(call, errors, ERRORS).await?;
    lines.extend(latest(&errors));
    let mut output = ToolOutput::ours(lines.join("\n"));
    output.from_outside = errors.iter().any(has_free_text) || !names.iter().all(|name| is_a_name(name));
    Ok(output)
}

/// On which node, and on what kind of store. Where that is, is nobody's business in a conversation.
async fn running(call: &ToolCall) -> Result<String, StoreError> {
    let node = match call.store.turn(&call.turn).await {
        Ok(turn) => format!("`{}`", single_line(turn.holder.as_str(), NAME_CHARS)),
        Err(StoreError::NotFound { .. }) => "unknown".to_owned(),
        Err(error) => return Err(error),
    };
    let kind = if call.store.location().path().is_some() { "a SQLite file" } else { "a Postgres server" };
    Ok(format!("now {}, node {node}, stored in {kind}", moment(call.now)))
}

/// What is known of a channel.
#[derive(Default)]
struct Channel {
    last_message: Option<Timestamp>,
    errors: usize,
}

async fn channels(call: &ToolCall, names: &mut Vec<String>) -> Result<Vec<String>, StoreError> {
    let mut channels: BTreeMap<Arc<str>, Channel> = BTreeMap::new();
    for event_type in [EventType::MessageReceived, EventType::MessageSent, EventType::ChannelError] {
        let filter = EventFilter {
            event_type: Some(event_type.clone()),
            since: Some(call.now.minus(LATELY)),
            ..EventFilter::default()
        };
        for stored in call.store.events(&filter, &EventPage::newest(u64::from(LOOKED_AT))).await? {
            let Some(name) = stored.event.channel.clone() else { continue };
            let channel = channels.entry(name).or_default();
            if event_type == EventType::ChannelError {
                channel.errors += 1;
            } else {
                channel.last_message = channel.last_message.max(Some(stored.event.timestamp));
            }
        }
    }
    if channels.is_empty() {
        return Ok(vec!["channels in the last 24 hours: none had a message or an error".to_owned()]);
    }
    let line = |(name, channel): (&Arc<str>, &Channel)| {
        let last = channel
            .last_message
            .map_or_else(|| "no message".to_owned(), |at| format!("last message {}", moment(at)));
        format!("- {}: {last}, {}", single_line(name, NAME_CHARS), counted(channel.errors, "error"))
    };
    names.extend(channels.keys().map(ToString::to_string));
    let heading = "channels in the last 24 hours:".to_owned();
    Ok([heading].into_iter().chain(channels.iter().map(line)).collect())
}

async fn conversations(call: &ToolCall, names: &mut Vec<String>) -> Result<Vec<String>, StoreError> {
    let found = call.store.conversations(ConversationPage::first(LOOKED_AT)).await?;
    let since = call.now.minus(LATELY);
    let active: Vec<&Conversation> = found.iter().filter(|one| one.last_activity_at >= since).collect();
    let or_more = if active.len() >= LOOKED_AT as usize { " or more" } else { "" };
    let mut lines =
        vec![format!("conversations active in the last 24 hours: {}{or_more}", with_thousands(active.len()))];
    names.extend(active.iter().take(LISTED).flat_map(|one| names_of(one)));
    lines.extend(active.iter().take(LISTED).map(|one| format!("- {}", about(one))));
    if active.len() > LISTED {
        lines.push(format!("- and {} more", with_thousands(active.len() - LISTED)));
    }
    Ok(lines)
}

fn about(conversation: &Conversation) -> String {
    let name = |name: &str| single_line(name, NAME_CHARS);
    let user = conversation.user.as_deref().map_or_else(|| "somebody unknown".to_owned(), name);
    let channel = conversation.channel.as_deref().map_or_else(|| "no channel".to_owned(), name);
    let (id, situation) = (name(conversation.id.as_str()), name(&conversation.situation));
    format!("{id}: {user} at {channel}, {situation}, last active {}", moment(conversation.last_activity_at))
}

fn names_of(conversation: &Conversation) -> impl Iterator<Item = String> {
    let Conversation { user, channel, situation, .. } = conversation.clone();
    [user, channel, Some(situation)].into_iter().flatten()
}

async fn this_conversation(call: &ToolCall, names: &mut Vec<String>) -> Result<Vec<String>, StoreError> {
    let found = call.store.conversation(&call.conversation).await?;
    let now = format!("now {}", moment(call.now));
    let Some(found) = found else { return Ok(vec![now]) };
    // Who began it, and where, is told to nobody else: it may have been at a higher trust.
    let told = if call.user.is_some() && found.user.as_deref() == call.user.as_deref() {
        names.extend(names_of(&found));
        about(&found)
    } else {
        let id = single_line(found.id.as_str(), NAME_CHARS);
        format!("{id}, last active {}", moment(found.last_activity_at))
    };
    Ok(vec![now, format!("this conversation: {told}")])
}

/// How much is remembered in the stores that are open here. Of the others not even a number is told.
async fn memory(call: &ToolCall) -> Result<String, StoreError> {
    let counts = call.store.count_observations(&MemoryStore::permitted(call.trust)).await?;
    let told = counts.iter().map(|(store, count)| format!("{} {count}", store.as_str()));
    let told: Vec<String> = told.collect();
    Ok(if told.is_empty() {
        "memory: none here".to_owned()
    } else {
        format!("memory, observations: {}", told.join(", "))
    })
}

fn latest(errors: &[Event]) -> Vec<String> {
    if errors.is_empty() {
        return vec!["latest errors: none".to_owned()];
    }
    let lines = errors.iter().map(|event| format!("- {} {}", moment(event.timestamp), event_line(event)));
    ["latest errors:".to_owned()].into_iter().chain(lines).collect()
}
