//! The tools an agent has, one file each. What the model is told of them stands in `foreword_core::tools`; whether a call
//! is allowed was decided before one of these is run.

pub mod bash;
pub mod event_line;
mod file_access;
pub mod foreword_cost;
pub mod foreword_logs;
pub mod foreword_status;
pub mod foreword_trace;
mod given;
pub mod hand_over;
pub mod inbox_read;
pub mod inbox_reply;
pub(crate) mod limits;
pub mod memory_get;
pub mod memory_search;
pub mod memory_write;
pub mod read_file;
pub mod skill_get;
pub mod update_prompt_layer;
pub mod workflow_run;
pub mod write_file;

use std::sync::Arc;

pub use limits::OutputLimits;

use crate::memory::Memory;
use crate::tool::Tool;

/// How the tools are to work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSettings {
    /// Shell commands.
    pub bash: bash::BashSettings,
    /// How much the other tools give at once.
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
    // One line each, by name; the order is nobody's business: what the model sees is sorted.
    vec![
        Arc::new(bash::Bash::new(settings.bash)),
        Arc::new(foreword_cost::ForewordCost::new(settings.output)),
        Arc::new(foreword_logs::ForewordLogs::new(settings.output)),
        Arc::new(foreword_status::ForewordStatus),
        Arc::new(foreword_trace::ForewordTrace::new(settings.output)),
        Arc::new(inbox_read::InboxRead),
        Arc::new(inbox_reply::InboxReply),
        Arc::new(hand_over::HandOver),
        Arc::new(read_file::ReadFile::new(settings.output)),
        Arc::new(skill_get::SkillGet),
        Arc::new(update_prompt_layer::UpdatePromptLayer),
        Arc::new(workflow_run::WorkflowRun),
        Arc::new(write_file::WriteFile),
    ]
}

/// The tools of a memory.
#[must_use]
pub fn memory(memory: Memory) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(memory_get::MemoryGet(memory.clone())),
        Arc::new(memory_search::MemorySearch(memory.clone())),
        Arc::new(memory_write::MemoryWrite(memory)),
    ]
}
