//! Why a workflow was not run, or not gone on with. What fails in a run that has begun is told by its end.

use foreword_core::id::RunId;
use foreword_core::workflow::{CannotResume, ChainRefused, Changed};
use foreword_workspace::workflows::BadParameters;

/// Why a workflow was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowError {
    /// There is none of that name for whoever asked.
    #[error("there is no workflow `{name}`{}", hint(.near.as_deref(), .known))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        near: Option<String>,
        /// Those there are.
        known: Vec<String>,
    },
    /// What it was given is not what it takes.
    #[error(transparent)]
    Parameters(#[from] BadParameters),
    /// It would run within itself, or too deep.
    #[error(transparent)]
    Chain(#[from] ChainRefused),
    /// It can't be resumed that way.
    #[error(transparent)]
    Resume(#[from] CannotResume),
    /// Its file has changed where something is done already.
    #[error("the file `{path}` has changed since run `{run}` was started: {changed}")]
    FileChanged {
        /// The run.
        run: RunId,
        /// The file.
        path: String,
        /// Where.
        changed: Changed,
    },
    /// It has ended well.
    #[error("run `{0}` has come to its end: there is nothing to resume")]
    HasEnded(RunId),
    /// Somebody is running it.
    #[error("run `{run}` is under way on node `{node}`")]
    UnderWay {
        /// The run.
        run: RunId,
        /// Who runs it.
        node: String,
    },
    /// What was stored of it can't be read.
    #[error("what was stored of run `{0}` can't be read")]
    Unreadable(RunId),
}

impl WorkflowError {
    /// What everybody may read of it: neither the file nor the node.
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::FileChanged { run, .. } => {
                format!("the workflow has changed since run `{run}` was started")
            }
            Self::UnderWay { run, .. } => format!("run `{run}` is under way"),
            other => other.to_string(),
        }
    }
}

fn hint(near: Option<&str>, known: &[String]) -> String {
    match near {
        Some(near) => format!(": did you mean `{near}`?"),
        None if known.is_empty() => ", and none at all here".to_owned(),
        None => format!(". There are: {}", known.join(", ")),
    }
}
