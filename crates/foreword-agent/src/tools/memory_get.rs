//! `memory_get(path, from, lines)`: lines of a note, whichever the menu, a snippet or a cut in the prompt has named.

use std::sync::Arc;

use foreword_core::event::Event;
use foreword_prompt::occasion::Channel;
use foreword_workspace::memory_index::{Lines, Reader};
use serde_json::{Map, Value};

use crate::inbound::{INBOX, Purpose};
use crate::memory::{Given, Memory, MemoryError, Read};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

/// Reads memory at the turn's trust.
#[derive(Debug, Clone)]
pub struct MemoryGet(pub Memory);

impl Tool for MemoryGet {
    fn name(&self) -> &'static str {
        "memory_get"
    }

    fn has_side_effects(&self) -> bool {
        false
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        let memory = self.0.clone();
        Box::pin(async move {
            match get(&memory, &arguments, &call).await {
                Ok(read) => given(read.given()),
                Err(error) => failed(&error),
            }
        })
    }
}

async fn get(memory: &Memory, arguments: &Map<String, Value>, call: &ToolCall) -> Result<Read, MemoryError> {
    let number = |name: &str| {
        // A negative number asks for nothing, as 0 does.
        let number = arguments.get(name).and_then(Value::as_i64);
        number.map(|number| usize::try_from(number).unwrap_or(0))
    };
    let lines = Lines { from: number("from").unwrap_or(1), count: number("lines") };
    let reader = reader_of(call).await?;
    read_in(memory, call).get(call.snapshot.clone(), reader, text_of(arguments, "path"), lines).await
}

/// Memory as this call may read it. Whoever answers the inbox, or works in a workflow for that, reads nothing that was
/// noted over other people's messages.
pub(super) fn read_in(memory: &Memory, call: &ToolCall) -> Memory {
    let answers = matches!(call.occasion.purpose, Purpose::Inbox { .. });
    if answers || call.occasion.situation() == INBOX {
        memory.for_batch(call.conversation.clone())
    } else {
        memory.clone()
    }
}

/// Who reads in this call: with the channel and the situation of its conversation, since some files are named by these.
pub(super) async fn reader_of(call: &ToolCall) -> Result<Reader, MemoryError> {
    let conversation = call.store.conversation(&call.conversation).await?;
    // Whoever is in no conversation reads where they are.
    let (channel, situation) = match conversation {
        Some(found) => (found.channel.as_deref().map(Channel::new), found.situation),
        None => (call.occasion.channel.clone(), call.occasion.situation().to_owned()),
    };
    Ok(Reader {
        trust: call.trust,
        user: call.user.clone(),
        family: channel.as_ref().and_then(|channel| channel.family()).map(Arc::from),
        situation: Some(situation.as_str().into()),
    })
}

/// What memory gave, with its mark. The only way from memory to a tool's output.
pub(super) fn given(given: Given) -> ToolOutput {
    if given.from_outside { ToolOutput::outside(given.text) } else { ToolOutput::ours(given.text) }
}

pub(super) fn failed(error: &MemoryError) -> ToolOutput {
    ToolOutput::failed(format!("{error}. To go on: {}.", error.advice()))
}

/// An argument that the schema has made sure of.
pub(super) fn text_of<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// An event of this call.
pub(super) fn about(event: Event, call: &ToolCall) -> Event {
    Event {
        session_id: Some(call.conversation.clone()),
        turn_id: Some(call.turn.clone()),
        agent_id: Some(Arc::clone(&call.agent)),
        user_id: call.user.clone(),
        ..event
    }
}
