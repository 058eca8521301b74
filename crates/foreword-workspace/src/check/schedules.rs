//! Schedules and workflows that name a missing file, workflow or directory. These are warnings: the file may be created
//! before the schedule fires.

use foreword_prompt::diagnostic::did_you_mean;

use super::Findings;
use crate::config::ConfiguredSettings;
use crate::config::schedules::{HEARTBEAT_FILE, ScheduleAction};
use crate::snapshot::Snapshot;
use crate::workspace::Workspace;

pub(super) fn check(workspace: &Workspace, snapshot: &Snapshot, found: &mut Findings) {
    for workflow in &snapshot.workflows().items {
        working_directory(workspace, &format!("workflow `{}`", workflow.name), &workflow.settings, found);
    }
    for schedule in snapshot.config.schedules.values() {
        working_directory(workspace, &format!("schedule `{}`", schedule.name), &schedule.settings, found);
        match &schedule.action {
            ScheduleAction::Workflow { name, .. } => missing_workflow(snapshot, &schedule.name, name, found),
            ScheduleAction::Heartbeat if snapshot.file(HEARTBEAT_FILE).is_err() => found.remark(
                "no_heartbeat",
                format!("schedule `{}` says what {HEARTBEAT_FILE} says, but there is none", schedule.name),
                Some(format!("write the agent's recurring tasks into {HEARTBEAT_FILE}")),
            ),
            ScheduleAction::Heartbeat
            | ScheduleAction::Prompt(_)
            | ScheduleAction::Tick
            | ScheduleAction::Compact => {}
        }
    }
}

fn working_directory(workspace: &Workspace, user: &str, settings: &ConfiguredSettings, found: &mut Findings) {
    let Some(Err(error)) = settings.cwd.as_deref().map(|cwd| workspace.working_directory(cwd)) else {
        return;
    };
    found.remark("bad_cwd", format!("{user}: {error}"), Some(error.help_for_owner()));
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
