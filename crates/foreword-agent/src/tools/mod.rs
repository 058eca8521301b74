//! The built-in tools, one file each. Their descriptions are in `foreword_core::tools`; a call is authorised before it
//! reaches a tool.

mod arguments;
pub mod bash;
mod builtin_tool;
pub mod event_line;
mod file_access;
mod foreword_cost;
mod foreword_logs;
mod foreword_status;
mod foreword_trace;
mod hand_over;
mod inbox_read;
mod inbox_reply;
pub(crate) mod limits;
pub mod memory_get;
pub mod memory_search;
pub mod memory_write;
pub mod read_file;
mod skill_get;
mod update_prompt_layer;
mod workflow_run;
mod write_file;

use std::sync::Arc;

pub use limits::OutputLimits;

use crate::memory::Memory;
use crate::tool::Tool;

/// Settings of the tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSettings {
    /// Settings of `bash`.
    pub bash: bash::BashSettings,
    /// The output limits of the other tools.
    pub output: OutputLimits,
}

/// The built-in tools, ready to run.
///
/// ```
/// use foreword_agent::tools::{ToolSettings, builtin};
/// let tools = builtin(ToolSettings::default());
/// assert!(tools.iter().any(|tool| tool.name() == "bash"));
/// ```
#[must_use]
pub fn builtin(settings: ToolSettings) -> Vec<Arc<dyn Tool>> {
    // In any order: the list for the model is sorted.
    vec![
        Arc::new(bash::Bash::new(settings.bash)),
        Arc::new(foreword_cost::tool(settings.output)),
        Arc::new(foreword_logs::tool(settings.output)),
        Arc::new(foreword_status::tool()),
        Arc::new(foreword_trace::tool(settings.output)),
        Arc::new(inbox_read::tool()),
        Arc::new(inbox_reply::tool()),
        Arc::new(hand_over::tool()),
        Arc::new(read_file::ReadFile::new(settings.output)),
        Arc::new(skill_get::tool()),
        Arc::new(update_prompt_layer::tool()),
        Arc::new(workflow_run::tool()),
        Arc::new(write_file::tool()),
    ]
}

#[must_use]
pub fn memory(memory: Memory) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(memory_get::MemoryGet(memory.clone())),
        Arc::new(memory_search::MemorySearch(memory.clone())),
        Arc::new(memory_write::MemoryWrite(memory)),
    ]
}
