//! What a workflow names that is not there: a tool, or another workflow. Such a step would fail when it is done; it may
//! still be there by then, so it is only noted.

use foreword_prompt::diagnostic::did_you_mean;

use super::{StepAction, Workflow, validate};
use crate::document::DocumentError;
use crate::snapshot::Snapshot;

/// What stands between the name of a server and that of its tool.
const FROM_A_SERVER: &str = "__";

/// A note for each step that names something which is not there.
pub(crate) fn loose_ends(snapshot: &Snapshot) -> Vec<DocumentError> {
    let tools: Vec<&str> = snapshot.config.tools.iter().map(|tool| tool.name.as_str()).collect();
    let workflows: Vec<&str> =
        snapshot.workflows().items.iter().map(|workflow| workflow.name.as_str()).collect();
    let mut notes = Vec::new();
    for workflow in &snapshot.workflows().items {
        for (index, step) in workflow.steps.iter().enumerate() {
            let StepAction::Tool { name, .. } = &step.action else { continue };
            // Which tools a server has is known only once it runs.
            let missing_tool = !tools.contains(&name.as_str()) && !name.contains(FROM_A_SERVER);
            if missing_tool {
                notes.extend(note(snapshot, workflow, index, ("tool", name, &tools)));
            } else if let Some(called) = step.runs().filter(|called| !workflows.contains(called)) {
                notes.extend(note(snapshot, workflow, index, ("workflow", called, &workflows)));
            }
        }
    }
    notes
}

fn note(
    snapshot: &Snapshot,
    workflow: &Workflow,
    index: usize,
    (what, name, known): (&str, &str, &[&str]),
) -> Option<DocumentError> {
    let text = snapshot.file(&workflow.path).ok()?.text;
    let help = match did_you_mean(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the step fails as long as there is no such {what}"),
    };
    Some(validate::at_step((&workflow.path, text), index, format!("there is no {what} `{name}`"), help))
}
