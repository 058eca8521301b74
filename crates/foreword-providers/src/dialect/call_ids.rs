//! Names for calls of tools. A provider's own are kept; one that is missing, no id, or already taken in this
//! conversation is replaced by one that follows from the request, so that the same answer always reads the same.

use std::collections::BTreeSet;

use foreword_core::id::CallId;
use foreword_core::message::ContentBlock;
use foreword_core::model::ModelRequest;

/// The names that are taken.
#[derive(Debug)]
pub(super) struct CallIds {
    taken: BTreeSet<CallId>,
    /// How many messages the request has: no earlier request of the conversation has as many.
    messages: usize,
    made: usize,
}

impl CallIds {
    pub(super) fn new(request: &ModelRequest) -> Self {
        let blocks = request.messages.iter().flat_map(|message| &message.content);
        let calls = blocks.filter_map(|block| match block {
            ContentBlock::ToolCall { id, .. } => Some(id.clone()),
            _ => None,
        });
        Self { taken: calls.collect(), messages: request.messages.len(), made: 0 }
    }

    /// The id for a call that the provider calls `given`.
    pub(super) fn take(&mut self, given: &str) -> CallId {
        let mut wanted = CallId::new(given);
        loop {
            if let Ok(id) = wanted
                && self.taken.insert(id.clone())
            {
                return id;
            }
            wanted = CallId::new(format!("call_{}_{}", self.messages, self.made));
            self.made += 1;
        }
    }
}
