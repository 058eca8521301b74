//! Tool call ids. Keeps the provider's ids. A missing, invalid or duplicate id is replaced by one derived from the
//! request, so that decoding is deterministic.

use std::collections::BTreeSet;

use foreword_core::id::CallId;
use foreword_core::message::ContentBlock;
use foreword_core::model::ModelRequest;

/// The ids in use.
#[derive(Debug)]
pub(super) struct CallIds {
    taken: BTreeSet<CallId>,
    /// The number of messages in the request, which is unique within the conversation.
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

    /// The id for a call to which the provider gave the id `given`.
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
