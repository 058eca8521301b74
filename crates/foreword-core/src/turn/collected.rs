//! An answer while it comes in: words are joined, whole blocks kept in their place.

use serde::{Deserialize, Serialize};

use crate::message::{ContentBlock, Usage};
use crate::model::ModelEvent;

/// What has come of an answer so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Collected {
    blocks: Vec<ContentBlock>,
    usage: Option<Usage>,
}

impl Collected {
    /// Takes a piece in. That the answer is complete is not its business.
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

    /// Whether somebody may have read words of it.
    pub(super) fn has_words(&self) -> bool {
        self.blocks
            .iter()
            .any(|block| matches!(block, ContentBlock::Text { text } if !text.trim().is_empty()))
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// The answer, complete.
    pub(super) fn into_blocks(self) -> Vec<ContentBlock> {
        // No provider takes a text without words back.
        let wordless =
            |block: &ContentBlock| matches!(block, ContentBlock::Text { text } if text.trim().is_empty());
        self.blocks.into_iter().filter(|block| !wordless(block)).collect()
    }

    /// The words of an answer that broke off. Calls of tools that were in it are not made, and what only the provider
    /// understands is not complete.
    pub(super) fn into_words(self) -> Vec<ContentBlock> {
        let words = |block: &ContentBlock| matches!(block, ContentBlock::Text { .. });
        self.into_blocks().into_iter().filter(words).collect()
    }
}
