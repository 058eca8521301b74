//! Schedules that name what is not there. It may come: a schedule that can't do its work fails when it is due, and no
//! sooner.

use foreword_prompt::diagnostic::did_you_mean;

use super::Findings;
use crate::config::schedules::{Action, HEARTBEAT_FILE};
use crate::snapshot::Snapshot;

pub(super) fn look_over(snapshot: &Snapshot, found: &mut Findings) {
    for schedule in snapshot.config.schedules.values() {
        match &schedule.action {
            Action::Workflow { name, .. } => missing_workflow(snapshot, &schedule.name, name, found),
            Action::Heartbeat if snapshot.file(HEARTBEAT_FILE).is_err() => found.remark(
                "no_heartbeat",
                format!("schedule `{}` says what {HEARTBEAT_FILE} says, but there is none", schedule.name),
                Some(format!("write what the agent is to look after into {HEARTBEAT_FILE}")),
            ),
            Action::Heartbeat | Action::Prompt(_) | Action::Tick | Action::Compact => {}
        }
    }
}

fn missing_workflow(snapshot: &Snapshot, schedule: &str, wanted: &str, found: &mut Findings) {
    let known = &snapshot.workflows().items;
    if known.iter().any(|workflow| workflow.name == wanted) {
        return;
    }
    let near = did_you_mean(wanted, known.iter().map(|workflow| workflow.name.as_str()));
    let help = near
        .map_or_else(|| format!("create workflows/{wanted}.yaml"), |near| format!("did you mean `{near}`?"));
    found.remark(
        "unknown_workflow",
        format!("schedule `{schedule}` runs the workflow `{wanted}`, but there is none"),
        Some(help),
    );
}
