//! Gets the next turn of a conversation ready when one has ended and nobody waits: the history and the epoch are read, and
//! the prompt is made. Now and then the history has grown so much that it is made anew, which takes longer than all the rest
//! of a beginning.
//!
//! Whatever is ready may be out of date by the time it is wanted. That is found out then: see
//! [`Opening::followed_by`](foreword_store::openings::Opening::followed_by), and the workspace's own keys.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreword_core::compaction::weight;
use foreword_core::id::ConversationId;
use foreword_core::message::ContentBlock;
use foreword_store::openings::Opening;
use foreword_store::store::Store;
use foreword_workspace::request::{Request, SourcePolicy};

use crate::building::build;
use crate::error::AgentError;
use crate::prepare::{Placed, request};
use crate::read_ahead::ReadAhead;
use crate::shared::Shared;
use crate::whose;

/// The longest history that is kept in memory between two turns, in bytes.
const KEPT_BYTES: usize = 256 * 1024;

/// What is ready for the next turn of one conversation.
#[derive(Clone, Default)]
pub(crate) struct Readiness(Arc<Mutex<Option<Opening>>>);

impl Readiness {
    /// What is ready; if nothing is, it is read from now on.
    pub(crate) fn take(&self, store: &Store, conversation: &ConversationId) -> ReadAhead {
        match self.kept().take() {
            Some(opening) => ReadAhead::Done(Box::new(opening)),
            None => ReadAhead::start(store, conversation),
        }
    }

    /// Gets ready for another turn at `placed`. If that fails, the turn that needs it finds out why.
    pub(crate) fn renew(&self, shared: &Arc<Shared>, placed: Placed) {
        let (ready, shared) = (self.clone(), Arc::clone(shared));
        tokio::spawn(async move {
            let Ok((opening, request)) = expected(&shared, &placed).await else { return };
            if bytes(&opening) <= KEPT_BYTES {
                *ready.kept() = Some(opening);
            }
            let _ = build(&shared, Request { sources: SourcePolicy::Tolerate, ..request }).await;
        });
    }

    /// Lets go of it.
    pub(crate) fn forget(&self) {
        self.kept().take();
    }

    fn kept(&self) -> MutexGuard<'_, Option<Opening>> {
        // Nothing can fail while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the next turn at `placed` will read, and what it will ask the workspace for.
async fn expected(shared: &Shared, placed: &Placed) -> Result<(Opening, Request), AgentError> {
    let opening = shared.store.opening(&placed.conversation).await?;
    let agent = opening.agent.as_ref().map(|(agent, _)| agent.as_str());
    let view = whose::view(shared, placed, agent).await?;
    let config = Arc::clone(&view.snapshot.config);
    let mut request = request(shared, placed, &view, &opening.settings.settings).await?;
    let who = request.identify(&config);
    let (trust, model) = (who.trust.effective(), who.occasion.model);
    request.history_tokens = weight(&opening.history.clone().at_trust(trust));
    request.calibration = shared.calibrations.factor(&config, &model);
    Ok((opening, request))
}

/// About what an opening takes in memory.
fn bytes(opening: &Opening) -> usize {
    let blocks = opening.history.messages.iter().flat_map(|message| &message.message.content);
    let said = blocks.map(|block| match block {
        ContentBlock::Text { text } => text.len(),
        ContentBlock::ToolResult { content, .. } => content.len(),
        ContentBlock::ToolCall { input, .. } => input.to_string().len(),
        ContentBlock::Other(value) => value.to_string().len(),
    });
    said.sum()
}
