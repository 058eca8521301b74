//! The prompt that a conversation runs on. Where an epoch is open, the turn needs no source: a source that fails, or takes too
//! long, counts as unchanged. A prompt that is to be frozen needs all required sources, or their last good versions.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::history::History;
use foreword_prompt::epoch::{Decision, Dependencies, decide};
use foreword_store::epochs::{InForce, Proposed};
use foreword_workspace::build::Built;
use foreword_workspace::request::{Request, SourcePolicy};

use crate::building::build;
use crate::error::AgentError;
use crate::prepare::{Placed, proposed};
use crate::shared::Shared;

/// How long a turn with an open epoch waits to learn what has changed in the sources of its prompt. After that it runs on the
/// frozen prompt, and the next turn learns it.
const DRIFT_TIMEOUT: Duration = Duration::from_secs(1);

/// A prompt as it would be built now, and the epoch it would open.
pub(crate) struct Candidate {
    pub(crate) built: Arc<Built>,
    pub(crate) proposed: Proposed,
}

/// The prompt for `request` in a conversation whose newest epoch was built from `current`.
pub(crate) async fn candidate(
    shared: &Shared,
    placed: &Placed,
    request: Request,
    history: &History,
    current: Option<&Dependencies>,
) -> Result<Candidate, AgentError> {
    let freeze = async |request| {
        let built = build(shared, request).await?;
        let proposed = proposed(shared, placed, &built, history);
        Ok::<_, AgentError>(Candidate { built, proposed })
    };
    let Some(current) = current else { return freeze(request).await };
    let built = beside_open_epoch(shared, &request).await?;
    let mut proposed = proposed(shared, placed, &built, history);
    if built.sources.skipped || !built.sources.failures.is_empty() {
        let speaker = built.occasion.user.as_deref();
        proposed
            .dependencies
            .assume_unread_unchanged(current, speaker, |layer| built.sources.is_unread(layer));
        // A cold cache only permits a new epoch. It is no reason to freeze what can't be read.
        proposed.circumstances.cache_cold = false;
    }
    let must_open =
        matches!(decide(Some(current), &proposed.dependencies, proposed.circumstances), Decision::Open(_));
    if must_open && !built.sources.are_complete() {
        return freeze(request).await;
    }
    Ok(Candidate { built, proposed })
}

/// Stores the sources of a prompt as the last good ones if an epoch was opened with it.
pub(crate) async fn note_opened(shared: &Shared, built: &Built, epoch: &InForce) {
    if matches!(epoch, InForce::Opened(_)) {
        shared.sources.store_good(shared, built).await;
    }
}

/// The prompt as it would be built now, as far as its sources can be read in time.
async fn beside_open_epoch(shared: &Shared, request: &Request) -> Result<Arc<Built>, AgentError> {
    let tolerant = Request { sources: SourcePolicy::Tolerate, ..request.clone() };
    match tokio::time::timeout(DRIFT_TIMEOUT, build(shared, tolerant)).await {
        Ok(Err(AgentError::Workspace(_))) | Err(_) => {
            build(shared, Request { sources: SourcePolicy::TurnLayersOnly, ..request.clone() }).await
        }
        Ok(built) => built,
    }
}
