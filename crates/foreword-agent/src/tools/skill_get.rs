//! `skill_get`: the instructions of a skill, whole. Everybody's skills, and those of the user at hand; never another's.
//! Runs nothing a skill says.

use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::skills::{Skill, skills_of_user};
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
    // A user's own skills say something about the user, so they need the trust that per-user files need.
    let user = call.user.as_deref().filter(|_| call.trust.permits(Trust::Inner));
    let own = user.map(|user| call.snapshot.user_skills(user));
    let own = own.as_ref().map_or(&[][..], |own| &own.items);
    let skills = skills_of_user(&call.snapshot.skills().items, own);
    let seen: Vec<&Skill> = skills.into_iter().filter(|skill| may_see(&skill.path, call)).collect();
    if let Some(skill) = seen.iter().find(|skill| skill.name == name) {
        return Ok(ToolOutput::ours(format!("# {}\n\n{}", skill.name, skill.body.trim())));
    }
    let names: Vec<&str> = seen.iter().map(|skill| skill.name.as_str()).collect();
    let what_there_is = if names.is_empty() {
        "there are no skills here".to_owned()
    } else {
        format!("there are `{}`", names.join("`, `"))
    };
    Err(ToolOutput::failed(format!("there is no skill `{}`: {what_there_is}", single_line(name, 80))))
}

/// As the prompt decides it: by the path that is written and by the one it leads to. What can't be found is not offered.
fn may_see(path: &str, call: &ToolCall) -> bool {
    let (user, config) = (call.user.as_deref(), &call.snapshot.config);
    let permits = |path: &str| config.needed(path, user).permits(call.trust, Trust::Public);
    permits(path) && call.snapshot.files().root.locate(path).is_ok_and(|real| permits(&real))
}
