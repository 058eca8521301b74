//! `memory_write(store, title, text)`: stores a note, in a store that the turn's trust permits, permanently marked if
//! its text may be from outside.

use serde_json::{Map, Value};

use crate::memory::{Memory, MemoryError, NewNote, Written, write_event};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

use super::memory_get::{failed, text_of, with_call};

/// The tool `memory_write`.
#[derive(Debug, Clone)]
pub struct MemoryWrite(pub Memory);

impl Tool for MemoryWrite {
    fn name(&self) -> &'static str {
        "memory_write"
    }

    fn has_side_effects(&self) -> bool {
        true
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        let memory = self.0.clone();
        Box::pin(async move {
            let store = match text_of(&arguments, "store").parse() {
                Ok(store) => store,
                Err(error) => {
                    return ToolOutput::failed(format!("{error}: use `private`, `shared` or `social`."));
                }
            };
            let note = NewNote {
                store,
                title: text_of(&arguments, "title").to_owned(),
                text: text_of(&arguments, "text").to_owned(),
                trust: call.trust,
                provenance: call.provenance,
                tainted: call.tainted,
                conversation: Some(call.conversation.clone()),
                turn: Some(call.turn.clone()),
                author: call.user.as_deref().map(str::to_owned),
                at: call.now,
                random: call.random,
            };
            output(memory.write(note).await, &call)
        })
    }
}

fn output(written: Result<Written, MemoryError>, call: &ToolCall) -> ToolOutput {
    match written {
        Ok(written) => {
            let mark = if written.from_outside { " It is marked as text from outside." } else { "" };
            let text = format!("Stored as {}.{mark}", written.path);
            ToolOutput::trusted(text).with_event(with_call(write_event(&written, call.now), call))
        }
        Err(error) => failed(&error),
    }
}
