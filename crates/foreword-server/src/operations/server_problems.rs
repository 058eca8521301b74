//! Current problems of this server's configuration, workspace and store. They are cached, so that they can be reported
//! while these fail.

use foreword_workspace::error::WorkspaceError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// A problem that lasts until it is fixed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerProblem {
    /// A stable code: `config_missing`, `config_empty`, `config_refused`, `workspace_unavailable`, or `store_` and the fault.
    #[schema(example = "config_missing")]
    pub(crate) code: String,
    /// The message; for the owner.
    message: String,
    /// A hint on how to fix it.
    help: Option<String>,
}

/// All current problems.
pub(crate) fn all(app: &App) -> Vec<ServerProblem> {
    let workspace = app.workspace.problem().map(|error| ServerProblem {
        code: match &error {
            WorkspaceError::Unavailable { .. } => "workspace_unavailable",
            WorkspaceError::ConfigMissing => "config_missing",
            WorkspaceError::ConfigEmpty => "config_empty",
            _ => "config_refused",
        }
        .to_owned(),
        message: error.to_string(),
        help: error.help(),
    });
    let store = app.store.health().failures().into_iter().map(|failure| ServerProblem {
        code: format!("store_{}", failure.fault.as_str()),
        message: failure.error.to_string(),
        help: Some(failure.error.help().to_owned()),
    });
    workspace.into_iter().chain(store).collect()
}
