//! `inbox_read(message)`: a complete inbox message, as text from outside. Only messages that this turn answers are
//! available.

use foreword_core::sender::READ_TOOL;

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use super::inbox_reply::{batch_of, unreadable, wanted};
use crate::tool::{ToolCall, ToolOutput};

/// The tool `inbox_read`.
pub(super) fn tool() -> BuiltinTool {
    BuiltinTool::new(READ_TOOL, |arguments, call| async move { read(&arguments, &call).await })
}

async fn read(arguments: &Arguments, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let batch = batch_of(call).await?;
    let (id, _) = wanted(&batch, arguments.text("message")?)?;
    let message = call.store.inbox_message(id).await.map_err(|error| unreadable(&error))?;
    Ok(ToolOutput::untrusted(message.body))
}
