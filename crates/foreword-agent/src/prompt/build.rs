//! Builds prompts without blocking the runtime. A cached prompt is returned immediately; others are built on a blocking
//! thread, one at a time, so that many new conversations leave capacity for running ones.

use std::sync::Arc;

use foreword_workspace::build::Built;
use foreword_workspace::request::Request;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::prepare::stored_texts;

/// The prompt for `request`. If a source fails, its stored last good version is used.
pub(crate) async fn build(shared: &Shared, request: Request) -> Result<Arc<Built>, AgentError> {
    let built = build_from_files(shared, request.clone(), Keep::Ready).await;
    with_last_good(shared, request, built, Keep::Ready).await
}

/// Like [`build`], without caching the prompt.
pub(crate) async fn build_once(shared: &Shared, request: Request) -> Result<Arc<Built>, AgentError> {
    let built = build_from_files(shared, request.clone(), Keep::No).await;
    with_last_good(shared, request, built, Keep::No).await
}

/// Whether the prompt is cached.
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
        // Held until the build ends, even if the caller is cancelled.
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
    // Failures are reported later, with their replacement.
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
    /// The prompt for `request`, with the stored texts and the external tools. Freezes and stores nothing.
    ///
    /// # Errors
    /// If there is no such agent, or its prompt can't be built.
    pub async fn prompt(&self, request: Request) -> Result<Arc<Built>, AgentError> {
        build(self.shared(), with_stored_texts(self.shared(), request).await?).await
    }

    /// Like [`Agent::prompt`], with `template` instead of the stored one.
    ///
    /// # Errors
    /// If there is no such agent, or its prompt can't be built.
    pub async fn prompt_with_template(
        &self,
        request: Request,
        template: Arc<str>,
    ) -> Result<Arc<Built>, AgentError> {
        let mut request = with_stored_texts(self.shared(), request).await?;
        request.stored = request.stored.map(|stored| Arc::new(stored.with_template(template)));
        build_once(self.shared(), request).await
    }
}

/// Adds the stored texts and the external tools to a request.
async fn with_stored_texts(shared: &Shared, request: Request) -> Result<Request, AgentError> {
    let view = shared.workspace.snapshot().of_agent(request.speaker.agent.as_deref())?;
    Ok(Request {
        stored: stored_texts(shared, &view.config).await?,
        more_tools: shared.outside_tools().specs.clone(),
        ..request
    })
}
