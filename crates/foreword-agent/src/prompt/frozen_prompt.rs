//! The frozen prompt of a conversation. With an open epoch, a turn needs no source: a failing or slow source counts as
//! unchanged. Freezing a new prompt needs all required sources, or their last good versions.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::history::History;
use foreword_prompt::epoch::{Decision, Dependencies, decide};
use foreword_store::epochs::{CurrentEpoch, ProposedEpoch};
use foreword_workspace::build::Built;
use foreword_workspace::request::{Request, SourcePolicy};

use crate::error::AgentError;
use crate::prompt::build::build;
use crate::shared::Shared;
use crate::turn::prepare::proposed;
use crate::turn::scope::TurnScope;

/// How long a turn with an open epoch waits for a build that detects changed sources. After that it uses the frozen
/// prompt, and the next turn detects the changes.
const DRIFT_TIMEOUT: Duration = Duration::from_secs(1);

/// A prompt as it would be built now, and the epoch it would open.
pub(crate) struct Candidate {
    pub(crate) built: Arc<Built>,
    pub(crate) proposed: ProposedEpoch,
}

/// The prompt for `request` in a conversation whose newest epoch was built from `current`.
pub(crate) async fn candidate(
    shared: &Shared,
    scope: &TurnScope,
    request: Request,
    history: &History,
    current: Option<&Dependencies>,
) -> Result<Candidate, AgentError> {
    let freeze = async |request| {
        let built = build(shared, request).await?;
        let proposed = proposed(shared, scope, &built, history);
        Ok::<_, AgentError>(Candidate { built, proposed })
    };
    let Some(current) = current else { return freeze(request).await };
    let built = beside_open_epoch(shared, &request).await?;
    let mut proposed = proposed(shared, scope, &built, history);
    if built.sources.skipped || !built.sources.failures.is_empty() {
        let speaker = built.occasion.user.as_deref();
        proposed
            .dependencies
            .assume_unread_unchanged(current, speaker, |layer| built.sources.is_unread(layer));
        // A cold cache permits a new epoch but does not require one; don't freeze an incomplete prompt.
        proposed.triggers.cache_cold = false;
    }
    let must_open =
        matches!(decide(Some(current), &proposed.dependencies, proposed.triggers), Decision::Open(_));
    if must_open && !built.sources.are_complete() {
        return freeze(request).await;
    }
    Ok(Candidate { built, proposed })
}

/// Stores the sources of a prompt as the last good ones if an epoch was opened with it.
pub(crate) async fn note_opened(shared: &Shared, built: &Built, epoch: &CurrentEpoch) {
    if matches!(epoch, CurrentEpoch::Opened(_)) {
        shared.sources.store_good(shared, built).await;
    }
}

/// The prompt as it would be built now, from the sources that can be read in time.
async fn beside_open_epoch(shared: &Shared, request: &Request) -> Result<Arc<Built>, AgentError> {
    let tolerant = Request { sources: SourcePolicy::Tolerate, ..request.clone() };
    match tokio::time::timeout(DRIFT_TIMEOUT, build(shared, tolerant)).await {
        Ok(Err(AgentError::Workspace(_))) | Err(_) => {
            build(shared, Request { sources: SourcePolicy::TurnLayersOnly, ..request.clone() }).await
        }
        Ok(built) => built,
    }
}
