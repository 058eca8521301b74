//! `skill_get`: the instructions of a skill, whole. Everybody's skills, and those of the user at hand; never another's.
//! Runs nothing a skill says.

use foreword_prompt::untrusted::single_line;
use foreword_workspace::skills_seen::SkillView;
use serde_json::{Map, Value};

use super::given::Given;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

/// Loads a skill.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillGet;

impl Tool for SkillGet {
    fn name(&self) -> &'static str {
        "skill_get"
    }

    fn has_side_effects(&self) -> bool {
        false
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        Box::pin(async move {
            let load = tokio::task::spawn_blocking(move || load(&Given::new(arguments), &call));
            match load.await {
                Ok(Ok(output) | Err(output)) => output,
                Err(_) => ToolOutput::failed("loading was cut off: try again"),
            }
        })
    }
}

fn load(given: &Given, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let name = given.text("name")?;
    let view = SkillView { snapshot: &call.snapshot, user: call.user.as_deref(), trust: call.trust };
    let seen = view.skills();
    if let Some(skill) = seen.iter().find(|skill| skill.name == name) {
        return Ok(ToolOutput::ours(view.text(skill)));
    }
    let names: Vec<&str> = seen.iter().map(|skill| skill.name.as_str()).collect();
    let what_there_is = if names.is_empty() {
        "there are no skills here".to_owned()
    } else {
        format!("there are `{}`", names.join("`, `"))
    };
    Err(ToolOutput::failed(format!("there is no skill `{}`: {what_there_is}", single_line(name, 80))))
}
