//! Text generated from an agent's tools, workflows and skills. Stable order, one line each, no heading without content.

use std::fmt::Write;
use std::sync::Arc;

use crate::content::Content;
use crate::tool::ToolSpec;

/// A skill as the prompt lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillLine {
    /// The argument of `skill_get`.
    pub name: Arc<str>,
    /// Its purpose, on one line.
    pub description: Arc<str>,
}

/// A workflow as the prompt lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowLine {
    /// Its name.
    pub name: Arc<str>,
    /// What it does, on one line.
    pub description: Arc<str>,
    /// Its parameters, each as `name` or `name?` when it is optional.
    pub parameters: Vec<Arc<str>>,
}

/// The tools by name and description.
#[must_use]
pub fn tools(tools: &[ToolSpec]) -> Content {
    lines(tools.iter().map(|tool| format!("- **{}**: {}", tool.name, tool.description)), "no tools")
}

/// The tools with their parameters.
#[must_use]
pub fn tools_with_parameters(tools: &[ToolSpec]) -> Content {
    let line = |tool: &ToolSpec| {
        let mut out = format!("- **{}**: {}", tool.name, tool.description);
        for parameter in &tool.parameters {
            let optional = if parameter.required { "" } else { ", optional" };
            // Writing to a String can't fail.
            let _ = write!(
                out,
                "\n  - `{}` ({}{optional}): {}",
                parameter.name, parameter.kind, parameter.description
            );
        }
        out
    };
    lines(tools.iter().map(line), "no tools")
}

/// The workflows with their parameters, and how to run one if the reader may.
#[must_use]
pub fn workflows(workflows: &[WorkflowLine], can_run: bool) -> Content {
    let line = |workflow: &WorkflowLine| {
        let parameters = match workflow.parameters.as_slice() {
            [] => String::new(),
            some => format!(" ({})", some.join(", ")),
        };
        format!("- **{}**{parameters}: {}", workflow.name, workflow.description)
    };
    let listed = lines(workflows.iter().map(line), "no workflows");
    match (listed, can_run) {
        (Content::Text(list), true) => Content::Text(format!("{list}\n\n{HOW_TO_RUN}").into()),
        (listed, _) => listed,
    }
}

const HOW_TO_RUN: &str = "Run one with workflow_run(name, parameters), the parameters as one JSON object by the names in \
                          brackets; those with `?` may be left out.";

/// The skills, and how to load one if the reader may.
#[must_use]
pub fn skills(skills: &[SkillLine], can_load: bool) -> Content {
    let listed =
        lines(skills.iter().map(|skill| format!("- {}: {}", skill.name, skill.description)), "no skills");
    match (listed, can_load) {
        (Content::Text(list), true) => {
            Content::Text(format!("Load one with skill_get(name) before you use it.\n\n{list}").into())
        }
        (listed, _) => listed,
    }
}

/// The section after an operations layer: the skills that are always active, with their instructions.
#[must_use]
pub fn active_skills(skills: &[(Arc<str>, Arc<str>)]) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    let mut out = "### Active Skills\n".to_owned();
    for (name, instructions) in skills {
        let one_line = instructions.split_whitespace().collect::<Vec<_>>().join(" ");
        // Writing to a String can't fail.
        let _ = write!(out, "\n- {name}: {one_line}");
    }
    Some(out)
}

fn lines(lines: impl Iterator<Item = String>, nothing: &str) -> Content {
    let all: Vec<String> = lines.collect();
    if all.is_empty() { Content::Absent(nothing.to_owned()) } else { Content::Text(all.join("\n").into()) }
}
