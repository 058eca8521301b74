//! `memory_get(path, from, lines)`: lines of a note that the menu, a snippet or a truncation marker in the prompt
//! names.

use std::sync::Arc;

use foreword_core::event::Event;
use foreword_prompt::occasion::Channel;
use foreword_workspace::memory_index::{Lines, Reader};
use serde_json::{Map, Value};

use crate::conversation::inbound::{INBOX, Purpose};
use crate::memory::{Memory, MemoryAnswer, MemoryError, Read};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

/// The tool `memory_get`.
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
                Ok(read) => tool_output(read.answer()),
                Err(error) => failed(&error),
            }
        })
    }
}

async fn get(memory: &Memory, arguments: &Map<String, Value>, call: &ToolCall) -> Result<Read, MemoryError> {
    let number = |name: &str| {
        // A negative number means the same as 0.
        let number = arguments.get(name).and_then(Value::as_i64);
        number.map(|number| usize::try_from(number).unwrap_or(0))
    };
    let lines = Lines { from: number("from").unwrap_or(1), count: number("lines") };
    let reader = reader_of(call).await?;
    read_in(memory, call).get(call.snapshot.clone(), reader, text_of(arguments, "path"), lines).await
}

/// The memory this call may read. A turn that answers the inbox, or a workflow run for it, does not read notes made
/// during other batches.
pub(super) fn read_in(memory: &Memory, call: &ToolCall) -> Memory {
    let answers = matches!(call.origin.purpose, Purpose::Inbox { .. });
    if answers || call.origin.situation() == INBOX {
        memory.for_batch(call.conversation.clone())
    } else {
        memory.clone()
    }
}

/// The reader of this call, with the channel and the situation of its conversation, since some file paths depend on
/// them.
pub(super) async fn reader_of(call: &ToolCall) -> Result<Reader, MemoryError> {
    let conversation = call.store.conversation(&call.conversation).await?;
    // Outside a conversation the call's own values apply.
    let (channel, situation) = match conversation {
        Some(found) => (found.channel.as_deref().map(Channel::new), found.situation),
        None => (call.origin.speaker.channel.clone(), call.origin.situation().to_owned()),
    };
    Ok(Reader {
        trust: call.trust,
        user: call.user.clone(),
        family: channel.as_ref().and_then(|channel| channel.family()).map(Arc::from),
        situation: Some(situation.as_str().into()),
    })
}

/// The output of memory with its mark. All memory tools use this function.
pub(super) fn tool_output(answer: MemoryAnswer) -> ToolOutput {
    if answer.from_outside { ToolOutput::untrusted(answer.text) } else { ToolOutput::trusted(answer.text) }
}

pub(super) fn failed(error: &MemoryError) -> ToolOutput {
    ToolOutput::failed(format!("{error}. Next: {}.", error.advice()))
}

/// A text argument that the schema requires.
pub(super) fn text_of<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// An event of this call.
pub(super) fn with_call(event: Event, call: &ToolCall) -> Event {
    Event {
        session_id: Some(call.conversation.clone()),
        turn_id: Some(call.turn.clone()),
        agent_id: Some(Arc::clone(&call.agent)),
        user_id: call.user.clone(),
        ..event
    }
}
