//! What is wrong with this server while it runs: its configuration, its workspace, its store. Known without asking any of
//! them, so that it can be told while they fail.

use foreword_workspace::error::WorkspaceError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// Something that is wrong until somebody puts it right.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StandingProblem {
    /// A word for programs: `config_missing`, `config_refused`, `workspace_unavailable`, or `store_` and the fault.
    #[schema(example = "config_missing")]
    pub(crate) code: String,
    /// What happened; for the owner.
    message: String,
    /// What to do about it.
    help: Option<String>,
}

/// Everything that is wrong now.
pub(crate) fn all(app: &App) -> Vec<StandingProblem> {
    let workspace = app.workspace.problem().map(|error| StandingProblem {
        code: match &error {
            WorkspaceError::Unavailable { .. } => "workspace_unavailable",
            WorkspaceError::ConfigMissing => "config_missing",
            _ => "config_refused",
        }
        .to_owned(),
        message: error.to_string(),
        help: error.help(),
    });
    let store = app.store.health().failures().into_iter().map(|failure| StandingProblem {
        code: format!("store_{}", failure.fault.as_str()),
        message: failure.error.to_string(),
        help: Some(failure.error.help().to_owned()),
    });
    workspace.into_iter().chain(store).collect()
}
