//! Who may see a run, and go on with it: the owner, and whoever started it, as long as they are trusted as far as they
//! were then. For everybody else it is not there.

use foreword_prompt::trust::Trust;
use foreword_store::workflow_runs::WorkflowRun;

use super::journal::SavedRun;

/// Whether `user`, trusted so far, may see `run`.
#[must_use]
pub fn is_open_to(run: &WorkflowRun, user: &str, trust: Trust) -> bool {
    if trust.permits(Trust::Full) {
        return true;
    }
    // What can't be read says nothing of how far anybody was trusted.
    let saved = run.occasion.clone().and_then(|saved| serde_json::from_value::<SavedRun>(saved).ok());
    let ceiling = saved.and_then(|saved| saved.occasion().purpose.ceiling());
    run.started_by.as_deref() == Some(user) && ceiling.is_some_and(|ceiling| trust.permits(ceiling))
}
