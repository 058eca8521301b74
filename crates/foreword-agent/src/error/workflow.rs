//! Errors of starting and resuming workflows. Errors during a run are part of its result.

use foreword_core::id::RunId;
use foreword_core::workflow::{CannotResume, ChainRefused, StepChanged};
use foreword_workspace::workflows::BadParameters;

/// A workflow was not started or not resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowError {
    /// The workflow does not exist, or the user may not start it.
    #[error("there is no workflow `{name}`{}", hint(.near.as_deref(), .known))]
    Unknown {
        name: String,
        /// The most similar name.
        near: Option<String>,
        /// The available workflows.
        known: Vec<String>,
    },
    /// The parameters are invalid.
    #[error(transparent)]
    Parameters(#[from] BadParameters),
    /// The workflow would call itself or exceed the nesting limit.
    #[error(transparent)]
    Chain(#[from] ChainRefused),
    /// The run can't be resumed in this way.
    #[error(transparent)]
    Resume(#[from] CannotResume),
    /// The workflow file has changed in steps that are already done.
    #[error("the file `{path}` has changed since run `{run}` was started: {changed}")]
    FileChanged {
        run: RunId,
        /// The workflow file.
        path: String,
        changed: StepChanged,
    },
    /// The run has completed.
    #[error("run `{0}` has completed: there is nothing to resume")]
    HasEnded(RunId),
    /// Another process executes the run.
    #[error("run `{run}` is executing on node `{node}`")]
    UnderWay {
        run: RunId,
        /// The node of that process.
        node: String,
    },
    /// The saved state of the run can't be decoded.
    #[error("the saved state of run `{0}` can't be read")]
    Unreadable(RunId),
}

impl WorkflowError {
    /// The public text, without file and node.
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::FileChanged { run, .. } => {
                format!("the workflow has changed since run `{run}` was started")
            }
            Self::UnderWay { run, .. } => format!("run `{run}` is executing"),
            other => other.to_string(),
        }
    }
}

fn hint(near: Option<&str>, known: &[String]) -> String {
    match near {
        Some(near) => format!(": did you mean `{near}`?"),
        None if known.is_empty() => "; no workflows are available".to_owned(),
        None => format!(". There are: {}", known.join(", ")),
    }
}
