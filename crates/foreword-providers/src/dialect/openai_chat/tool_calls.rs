//! Assembles tool calls from deltas. OpenAI sends an index and an id, and the arguments in pieces. Other servers send
//! whole calls, repeat the same index, or omit index and id.

use foreword_core::message::ContentBlock;
use serde_json::Value;

use super::super::call_ids::CallIds;
use super::super::sanitize;

/// The calls so far, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct ToolCalls(Vec<Call>);

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl ToolCalls {
    /// Adds a delta. Returns the number of bytes it adds to the buffer.
    pub(super) fn add(&mut self, piece: &Value) -> usize {
        let function = &piece["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let id = piece["id"].as_str().unwrap_or_default();
        let arguments = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            whole => whole.to_string(),
        };
        let index = piece["index"].as_u64();
        let at = self.find_call(index, id, name).unwrap_or_else(|| {
            self.0.push(Call { index, ..Call::default() });
            self.0.len() - 1
        });
        let call = &mut self.0[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&arguments);
        64 + id.len() + name.len() + arguments.len()
    }

    /// The call a delta belongs to, or `None` if it starts a new one.
    fn find_call(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let at = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index)?,
            None => self.0.len().checked_sub(1)?,
        };
        let call = &self.0[at];
        if !id.is_empty() && !call.id.is_empty() {
            return (id == call.id).then_some(at);
        }
        // A name after a complete call starts a new call.
        let is_whole = !call.name.is_empty() && serde_json::from_str::<Value>(&call.arguments).is_ok();
        (name.is_empty() || !is_whole).then_some(at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all calls as content blocks.
    pub(super) fn take(&mut self, ids: &mut CallIds) -> Vec<ContentBlock> {
        let calls = std::mem::take(&mut self.0).into_iter();
        calls
            .map(|call| ContentBlock::ToolCall {
                id: ids.take(&call.id),
                name: call.name,
                input: sanitize::arguments(&call.arguments),
            })
            .collect()
    }
}
