//! Builds prompts without holding anybody up: one that is ready is given at once, one that has to be made is made on a thread
//! of its own. One at a time, so that many conversations that begin together leave room for those that are under way.

use std::sync::Arc;

use foreword_workspace::build::Built;
use foreword_workspace::request::Request;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::inbound::Purpose;
use crate::inbox;
use crate::prepare::stored_texts;
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

/// The prompt for `request`, which nobody is going to ask for again.
pub(crate) async fn build_once(shared: &Shared, request: Request) -> Result<Arc<Built>, AgentError> {
    let Ok(_alone) = shared.building.acquire().await else { return Err(AgentError::Closed) };
    let workspace = Arc::clone(&shared.workspace);
    match tokio::task::spawn_blocking(move || workspace.build_once(&request)).await {
        Ok(built) => Ok(built?),
        Err(_) => Err(AgentError::Closed),
    }
}

impl Agent {
    /// The prompt for `request`, with the texts that are stored and the tools that others bring. Nothing is frozen and
    /// nothing is stored.
    ///
    /// # Errors
    /// If there is no such agent, or its prompt can't be made.
    pub async fn prompt(&self, request: Request) -> Result<Arc<Built>, AgentError> {
        build(self.shared(), furnished(self.shared(), request).await?).await
    }

    /// The same as if `template` were the stored one.
    ///
    /// # Errors
    /// If there is no such agent, or its prompt can't be made, with this template or at all.
    pub async fn prompt_with_template(
        &self,
        request: Request,
        template: Arc<str>,
    ) -> Result<Arc<Built>, AgentError> {
        let mut request = furnished(self.shared(), request).await?;
        request.stored = request.stored.map(|stored| Arc::new(stored.with_template(template)));
        build_once(self.shared(), request).await
    }
}

/// A request with the texts that are stored and the tools that others bring.
async fn furnished(shared: &Shared, request: Request) -> Result<Request, AgentError> {
    let view = shared.workspace.snapshot().of_agent(request.agent.as_deref())?;
    Ok(Request {
        stored: stored_texts(shared, &view.config).await?,
        more_tools: inbox::more_tools(&shared.outside_tools().specs, &Purpose::Talk),
        ..request
    })
}
