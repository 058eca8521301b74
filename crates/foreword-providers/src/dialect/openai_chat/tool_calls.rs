//! Calls of tools put together from their pieces. OpenAI numbers and names them and sends the arguments in pieces; others
//! send them whole, give all the same number, or give neither number nor name.

use foreword_core::message::ContentBlock;
use serde_json::Value;

use super::super::call_ids::CallIds;
use super::super::odd_values;

/// The calls so far, in the order they came.
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
    /// Adds a piece of a call, and says how many bytes more are held for it.
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
        let at = self.place(index, id, name).unwrap_or_else(|| {
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

    /// Which call a piece belongs to; `None` if it begins another.
    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let at = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index)?,
            None => self.0.len().checked_sub(1)?,
        };
        let call = &self.0[at];
        if !id.is_empty() && !call.id.is_empty() {
            return (id == call.id).then_some(at);
        }
        // A second name, when the call before has all it needs, is another call.
        let is_whole = !call.name.is_empty() && serde_json::from_str::<Value>(&call.arguments).is_ok();
        (name.is_empty() || !is_whole).then_some(at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All calls, as blocks.
    pub(super) fn take(&mut self, ids: &mut CallIds) -> Vec<ContentBlock> {
        let calls = std::mem::take(&mut self.0).into_iter();
        calls
            .map(|call| ContentBlock::ToolCall {
                id: ids.take(&call.id),
                name: call.name,
                input: odd_values::arguments(&call.arguments),
            })
            .collect()
    }
}
