//! `inbox_read(message)`: a message of the inbox in full, as data from outside. Only those that this turn answers: what
//! others wrote is not there.

use foreword_core::sender::READ_TOOL;
use serde_json::{Map, Value};

use super::given::Given;
use super::inbox_reply::{batch_of, unreadable, wanted};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

/// Reads a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct InboxRead;

impl Tool for InboxRead {
    fn name(&self) -> &'static str {
        READ_TOOL
    }

    fn has_side_effects(&self) -> bool {
        false
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        Box::pin(async move {
            match read(&Given::new(arguments), &call).await {
                Ok(output) | Err(output) => output,
            }
        })
    }
}

async fn read(given: &Given, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let batch = batch_of(call).await?;
    let (id, _) = wanted(&batch, given.text("message")?)?;
    let message = call.store.inbox_message(id).await.map_err(|error| unreadable(&error))?;
    Ok(ToolOutput::outside(message.body))
}
