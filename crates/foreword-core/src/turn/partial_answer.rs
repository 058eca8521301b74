//! Collects a streamed answer: joins text and keeps blocks in order.

use serde::{Deserialize, Serialize};

use crate::message::{ContentBlock, Usage};
use crate::model::ModelEvent;

/// The answer received so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct PartialAnswer {
    blocks: Vec<ContentBlock>,
    usage: Option<Usage>,
}

impl PartialAnswer {
    /// Adds an event. Does not track completion.
    pub(super) fn add(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Text(words) if words.is_empty() => {}
            ModelEvent::Text(words) => match self.blocks.last_mut() {
                Some(ContentBlock::Text { text }) => text.push_str(&words),
                _ => self.blocks.push(ContentBlock::text(words)),
            },
            ModelEvent::Block(block) => self.blocks.push(block),
            ModelEvent::Usage(usage) => self.usage = Some(usage),
            ModelEvent::Note(_) | ModelEvent::Stopped(_) => {}
        }
    }

    /// Whether it contains text that a user may have seen.
    pub(super) fn has_text(&self) -> bool {
        self.blocks.iter().filter_map(ContentBlock::as_text).any(|text| !text.trim().is_empty())
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// The complete answer.
    pub(super) fn into_blocks(self) -> Vec<ContentBlock> {
        // Providers reject empty text blocks.
        let is_empty = |block: &ContentBlock| block.as_text().is_some_and(|text| text.trim().is_empty());
        self.blocks.into_iter().filter(|block| !is_empty(block)).collect()
    }

    /// The text of an incomplete answer. Its tool calls are not run, and opaque provider blocks are incomplete.
    pub(super) fn into_text(self) -> Vec<ContentBlock> {
        let words = |block: &ContentBlock| matches!(block, ContentBlock::Text { .. });
        self.into_blocks().into_iter().filter(words).collect()
    }
}
