//! Access to runs. The owner, and the starter as long as their trust has not been lowered, may see and resume a run.
//! For all others the run does not exist.

use foreword_prompt::trust::Trust;
use foreword_store::workflow_runs::WorkflowRun;

use super::journal::SavedRun;

/// Whether `user` with `trust` may see `run`.
#[must_use]
pub fn is_visible_to(run: &WorkflowRun, user: &str, trust: Trust) -> bool {
    if trust.permits(Trust::Full) {
        return true;
    }
    // If the stored occasion is unreadable, the starter's trust is unknown and access is denied.
    let saved = run.occasion.clone().and_then(|saved| serde_json::from_value::<SavedRun>(saved).ok());
    let ceiling = saved.and_then(|saved| saved.occasion().purpose.ceiling());
    run.started_by.as_deref() == Some(user) && ceiling.is_some_and(|ceiling| trust.permits(ceiling))
}
