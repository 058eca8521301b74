//! Prefetches the inputs of the next turn after a turn has ended: reads history and epoch, and warms the prompt cache.
//!
//! The turn checks whether the inputs are outdated; see
//! [`TurnInputs::followed_by`](foreword_store::turn_inputs::TurnInputs::followed_by). The prompt cache has its own
//! keys.

use std::collections::{BTreeMap, VecDeque};
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

/// The maximum size of the inputs of one conversation.
const MAX_PREFETCHED_BYTES: usize = 256 * 1024;
/// The maximum size of all inputs. The oldest are discarded, so idle conversations cost almost nothing.
const MAX_TOTAL_BYTES: usize = 8 * 1024 * 1024;
/// The size of inputs without their history: mostly the frozen prompt.
const FIXED_BYTES: usize = 32 * 1024;

/// The prefetched inputs of the next turns, by conversation.
#[derive(Clone, Default)]
pub(crate) struct PrefetchedInputs(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    by_conversation: BTreeMap<ConversationId, (TurnInputs, usize)>,
    /// May contain conversations whose inputs were taken.
    oldest_first: VecDeque<ConversationId>,
    bytes: usize,
}

impl Entries {
    fn insert(&mut self, conversation: ConversationId, inputs: TurnInputs, size: usize) {
        self.remove(&conversation);
        self.bytes += size;
        self.oldest_first.push_back(conversation.clone());
        self.by_conversation.insert(conversation, (inputs, size));
        while self.bytes > MAX_TOTAL_BYTES
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.remove(&oldest);
        }
        // Bounds the list while few inputs are kept.
        if self.oldest_first.len() > 2 * self.by_conversation.len() {
            let Self { by_conversation, oldest_first, .. } = self;
            oldest_first.retain(|conversation| by_conversation.contains_key(conversation));
        }
    }

    fn remove(&mut self, conversation: &ConversationId) -> Option<TurnInputs> {
        let (inputs, size) = self.by_conversation.remove(conversation)?;
        self.bytes -= size;
        Some(inputs)
    }
}

impl PrefetchedInputs {
    /// Takes the prefetched inputs of a conversation. Without any, starts reading them.
    pub(crate) fn take(&self, store: &Store, conversation: &ConversationId) -> ReadAhead {
        let taken = self.0.lock().remove(conversation);
        match taken {
            Some(inputs) => ReadAhead::Done(Box::new(inputs)),
            None => ReadAhead::start(store, conversation),
        }
    }

    /// Prefetches the inputs of another turn in `scope`. Ignores errors, which the turn encounters itself.
    pub(crate) fn prefetch(&self, shared: &Arc<Shared>, scope: TurnScope) {
        let (ready, shared) = (self.clone(), Arc::clone(shared));
        tokio::spawn(async move {
            let Ok((inputs, request)) = expected(&shared, &scope).await else { return };
            let size = bytes(&inputs);
            if size <= MAX_PREFETCHED_BYTES {
                ready.0.lock().insert(scope.conversation, inputs, size + FIXED_BYTES);
            }
            let _ = build(&shared, Request { sources: SourcePolicy::Tolerate, ..request }).await;
        });
    }

    /// Discards the prefetched inputs of a conversation.
    pub(crate) fn clear(&self, conversation: &ConversationId) {
        self.0.lock().remove(conversation);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_inputs_are_discarded_beyond_the_total() {
        let mut entries = Entries::default();
        let id = |number: usize| ConversationId::new(format!("c-{number}")).unwrap();
        for number in 0..1_000 {
            entries.insert(id(number), TurnInputs::default(), FIXED_BYTES);
            entries.insert(id(number), TurnInputs::default(), FIXED_BYTES);
        }
        let kept = MAX_TOTAL_BYTES / FIXED_BYTES;
        assert_eq!((entries.by_conversation.len(), entries.bytes), (kept, MAX_TOTAL_BYTES));
        assert!(entries.oldest_first.len() <= 2 * kept);
        assert!(entries.remove(&id(0)).is_none() && entries.remove(&id(999)).is_some());
        (0..1_000).for_each(|number| drop(entries.remove(&id(number))));
        assert_eq!(entries.bytes, 0);
    }
}
