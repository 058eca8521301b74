//! `foreword_status`: how the agent is running right now, as [`Status`] tells it.

use serde_json::{Map, Value};

use crate::error::store_error_at;
use crate::status::Status;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};
use crate::viewer::Viewer;

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

    fn reads_the_log(&self) -> bool {
        true
    }

    fn run(&self, _arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        Box::pin(async move {
            match Status::seen_by(&Viewer::from(&call), &call.workspace, &call.snapshot.config).await {
                Ok(status) => ToolOutput {
                    from_outside: status.has_free_text(),
                    ..ToolOutput::ours(status.to_string())
                },
                Err(error) => {
                    let shown = store_error_at(&error, call.trust);
                    ToolOutput::failed(format!("the store can't be read: {shown}; {}", error.help()))
                }
            }
        })
    }
}
