//! Builds prompts without holding anybody up: one that is ready is given at once, one that has to be made is made on a thread
//! of its own. One at a time, so that many conversations that begin together leave room for those that are under way.

use std::sync::Arc;

use foreword_workspace::build::Built;
use foreword_workspace::request::Request;

use crate::error::AgentError;
use crate::shared::Shared;

/// The prompt for `request`.
pub(crate) async fn build(shared: &Shared, request: Request) -> Result<Arc<Built>, AgentError> {
    if let Some(ready) = shared.workspace.ready(&request) {
        return Ok(ready);
    }
    let Ok(_alone) = shared.building.acquire().await else { return Err(AgentError::Closed) };
    let workspace = Arc::clone(&shared.workspace);
    let building = tokio::task::spawn_blocking(move || workspace.build(&request));
    match building.await {
        Ok(built) => Ok(built?),
        Err(_) => Err(AgentError::Closed),
    }
}
