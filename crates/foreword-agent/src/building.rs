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

/// The prompt for `request`. If a source fails, it is built with the last good versions that are stored.
pub(crate) async fn build(shared: &Shared, request: Request) -> Result<Arc<Built>, AgentError> {
    let built = build_from_files(shared, request.clone(), Keep::Ready).await;
    with_last_good(shared, request, built, Keep::Ready).await
}

/// The same for a prompt that is not requested again, so that it is not kept ready.
pub(crate) async fn build_once(shared: &Shared, request: Request) -> Result<Arc<Built>, AgentError> {
    let built = build_from_files(shared, request.clone(), Keep::No).await;
    with_last_good(shared, request, built, Keep::No).await
}

/// Whether a prompt is kept ready for the next request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Ready,
    No,
}

async fn build_from_files(shared: &Shared, request: Request, keep: Keep) -> Result<Arc<Built>, AgentError> {
    if keep == Keep::Ready
        && let Some(ready) = shared.workspace.ready(&request)
    {
        return Ok(ready);
    }
    let Ok(permit) = Arc::clone(&shared.building).acquire_owned().await else {
        return Err(AgentError::Closed);
    };
    let workspace = Arc::clone(&shared.workspace);
    let building = tokio::task::spawn_blocking(move || {
        // Held until the work is done, which may be after the caller has stopped waiting for it.
        let _permit = permit;
        match keep {
            Keep::Ready => workspace.build(&request),
            Keep::No => workspace.build_once(&request),
        }
    });
    let built = match building.await {
        Ok(built) => built?,
        Err(_) => return Err(AgentError::Closed),
    };
    // Failures are reported with what replaces them, which is not known yet.
    if built.sources.failures.is_empty() {
        shared.sources.report(shared, &built.sources);
    }
    Ok(built)
}

/// `built`, or the same prompt with the last good versions if a source of it failed.
async fn with_last_good(
    shared: &Shared,
    request: Request,
    built: Result<Arc<Built>, AgentError>,
    keep: Keep,
) -> Result<Arc<Built>, AgentError> {
    let source_failed = match &built {
        Ok(built) => !built.sources.failures.is_empty(),
        Err(error) => matches!(error, AgentError::Workspace(_)),
    };
    if !source_failed || request.last_good.is_some() {
        return built;
    }
    let last_good = Some(Arc::new(shared.store.last_good_sources().await?));
    let built = build_from_files(shared, Request { last_good, ..request }, keep).await;
    if let Ok(built) = &built {
        shared.sources.report(shared, &built.sources);
    }
    built
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
