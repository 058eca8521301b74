//! `skill_get`: the complete instructions of a skill, common or the user's own. Executes nothing.

use foreword_prompt::untrusted::single_line;
use foreword_workspace::skill_view::SkillView;

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use crate::tool::{ToolCall, ToolOutput};

/// The tool `skill_get`.
pub(super) fn tool() -> BuiltinTool {
    let run = |arguments: Arguments, call: ToolCall| async move {
        let done = tokio::task::spawn_blocking(move || load(&arguments, &call)).await;
        done.unwrap_or_else(|_| Err(ToolOutput::failed("loading was cut off: try again")))
    };
    BuiltinTool::new("skill_get", run)
}

fn load(arguments: &Arguments, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let name = arguments.text("name")?;
    let view = SkillView { snapshot: &call.snapshot, user: call.user.as_deref(), trust: call.trust };
    let seen = view.skills();
    if let Some(skill) = seen.iter().find(|skill| skill.name == name) {
        return Ok(ToolOutput::trusted(view.text(skill)));
    }
    let names: Vec<&str> = seen.iter().map(|skill| skill.name.as_str()).collect();
    let what_there_is = if names.is_empty() {
        "there are no skills here".to_owned()
    } else {
        format!("there are `{}`", names.join("`, `"))
    };
    Err(ToolOutput::failed(format!("there is no skill `{}`: {what_there_is}", single_line(name, 80))))
}
