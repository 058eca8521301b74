//! Prefetches the inputs of the next turn after a turn has ended: reads history and epoch, and warms the prompt cache.
//!
//! The turn checks whether the inputs are outdated; see
//! [`TurnInputs::followed_by`](foreword_store::turn_inputs::TurnInputs::followed_by). The prompt cache has its own
//! keys.

use std::sync::Arc;

use foreword_core::compaction::weight;
use foreword_core::id::ConversationId;
use foreword_core::message::ContentBlock;
use foreword_store::store::Store;
use foreword_store::turn_inputs::TurnInputs;
use foreword_workspace::request::{Request, SourcePolicy};
use parking_lot::Mutex;

use crate::conversation::agent_routing;
use crate::error::AgentError;
use crate::prompt::build::build;
use crate::shared::Shared;
use crate::turn::prepare::request;
use crate::turn::read_ahead::ReadAhead;
use crate::turn::scope::TurnScope;

/// The maximum size of inputs that stay in memory between two turns.
const MAX_PREFETCHED_BYTES: usize = 256 * 1024;

/// The prefetched inputs of the next turn of one conversation.
#[derive(Clone, Default)]
pub(crate) struct PrefetchedInputs(Arc<Mutex<Option<TurnInputs>>>);

impl PrefetchedInputs {
    /// Takes the prefetched inputs. Without any, starts reading them.
    pub(crate) fn take(&self, store: &Store, conversation: &ConversationId) -> ReadAhead {
        match self.0.lock().take() {
            Some(inputs) => ReadAhead::Done(Box::new(inputs)),
            None => ReadAhead::start(store, conversation),
        }
    }

    /// Prefetches the inputs of another turn in `scope`. Ignores errors, which the turn encounters itself.
    pub(crate) fn prefetch(&self, shared: &Arc<Shared>, scope: TurnScope) {
        let (ready, shared) = (self.clone(), Arc::clone(shared));
        tokio::spawn(async move {
            let Ok((inputs, request)) = expected(&shared, &scope).await else { return };
            if bytes(&inputs) <= MAX_PREFETCHED_BYTES {
                *ready.0.lock() = Some(inputs);
            }
            let _ = build(&shared, Request { sources: SourcePolicy::Tolerate, ..request }).await;
        });
    }

    /// Discards the prefetched inputs.
    pub(crate) fn clear(&self) {
        self.0.lock().take();
    }
}

/// The expected inputs and prompt request of the next turn in `scope`.
async fn expected(shared: &Shared, scope: &TurnScope) -> Result<(TurnInputs, Request), AgentError> {
    let inputs = shared.store.turn_inputs(&scope.conversation).await?;
    let agent = inputs.agent.as_ref().map(|(agent, _)| agent.as_str());
    let view = agent_routing::view(shared, scope, agent).await?;
    let config = Arc::clone(&view.snapshot.config);
    let mut request = request(shared, scope, &view, &inputs.settings.settings).await?;
    let who = request.principal(&config);
    let (trust, model) = (who.trust.effective(), who.occasion.model);
    request.history_tokens = weight(&inputs.history.clone().at_trust(trust));
    request.calibration = shared.calibrations.factor(&config, &model);
    Ok((inputs, request))
}

/// The approximate memory size of the inputs.
fn bytes(inputs: &TurnInputs) -> usize {
    let blocks = inputs.history.messages.iter().flat_map(|message| &message.message.content);
    let sizes = blocks.map(|block| match block {
        ContentBlock::Text { text } => text.len(),
        ContentBlock::ToolResult { content, .. } => content.len(),
        ContentBlock::ToolCall { input, .. } => input.to_string().len(),
        ContentBlock::Other(value) => value.to_string().len(),
    });
    sizes.sum()
}
