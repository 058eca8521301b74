//! Finds tools and workflows that a workflow names and that do not exist. These are warnings: they may exist when the
//! step runs.

use foreword_prompt::diagnostic::did_you_mean;

use super::{StepAction, Workflow, validate};
use crate::document::DocumentError;
use crate::snapshot::Snapshot;

/// The separator between the names of an MCP server and its tool.
const SERVER_SEPARATOR: &str = "__";

/// A warning for each step that names a missing tool or workflow.
pub(crate) fn missing_references(snapshot: &Snapshot) -> Vec<DocumentError> {
    let tools: Vec<&str> = snapshot.config.tools.iter().map(|tool| tool.name.as_str()).collect();
    let workflows: Vec<&str> =
        snapshot.workflows().items.iter().map(|workflow| workflow.name.as_str()).collect();
    let mut notes = Vec::new();
    for workflow in &snapshot.workflows().items {
        for (index, step) in workflow.steps.iter().enumerate() {
            let StepAction::Tool { name, .. } = &step.action else { continue };
            // The tools of an MCP server are known only once it runs.
            let missing_tool = !tools.contains(&name.as_str()) && !name.contains(SERVER_SEPARATOR);
            if missing_tool {
                notes.extend(note(snapshot, workflow, index, &Missing { kind: "tool", name, known: &tools }));
            } else if let Some(called) = step.runs().filter(|called| !workflows.contains(called)) {
                notes.extend(note(
                    snapshot,
                    workflow,
                    index,
                    &Missing { kind: "workflow", name: called, known: &workflows },
                ));
            }
        }
    }
    notes
}

/// A missing tool or workflow.
struct Missing<'a> {
    kind: &'static str,
    name: &'a str,
    /// The existing names, for a suggestion.
    known: &'a [&'a str],
}

fn note(
    snapshot: &Snapshot,
    workflow: &Workflow,
    index: usize,
    missing: &Missing<'_>,
) -> Option<DocumentError> {
    let Missing { kind, name, known } = missing;
    let text = snapshot.file(&workflow.path).ok()?.text;
    let help = match did_you_mean(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the step fails as long as there is no such {kind}"),
    };
    Some(validate::at_step(&workflow.path, text, index, format!("there is no {kind} `{name}`"), help))
}
