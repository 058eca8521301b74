//! `foreword_status`: the agent's current [`AgentStatus`].

use super::builtin_tool::BuiltinTool;
use crate::error::store_error_at;
use crate::reports::status::AgentStatus;
use crate::reports::viewer::Viewer;
use crate::tool::{ToolCall, ToolOutput};

/// The tool `foreword_status`.
pub(super) fn tool() -> BuiltinTool {
    BuiltinTool::new("foreword_status", |_, call| async move { status(&call).await }).that_reads_the_log()
}

async fn status(call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let status = AgentStatus::visible_to(&Viewer::from(call), &call.workspace, &call.snapshot.config).await;
    let status = status.map_err(|error| {
        let shown = store_error_at(&error, call.trust);
        ToolOutput::failed(format!("the store can't be read: {shown}; {}", error.help()))
    })?;
    Ok(ToolOutput { from_outside: status.has_free_text(), ..ToolOutput::trusted(status.to_string()) })
}
