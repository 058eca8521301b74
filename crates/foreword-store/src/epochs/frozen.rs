//! The stored form of a frozen prompt: its text, and the metadata for reports and cache plans. It does not refer to
//! the blueprint's layers, because the blueprint may have changed.

use std::ops::Range;
use std::sync::Arc;

use foreword_prompt::cut::Cut;
use foreword_prompt::layer::{Authority, Stability};
use foreword_prompt::prompt::{Block, CacheClass, Frozen, Segment, SegmentStatus};
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use serde::{Deserialize, Serialize};

/// The part of a prompt that stays constant within an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenPrompt {
    /// The text, as the model reads it.
    pub text: Arc<str>,
    /// Its size in tokens.
    pub tokens: u64,
    /// Its blocks; a cache breakpoint can follow each.
    pub blocks: Vec<FrozenBlock>,
    /// Its layers, in physical order.
    pub layers: Vec<FrozenLayer>,
}

impl FrozenPrompt {
    /// The text of one layer with its heading, without the separator before it. `None` if the layer is not in this
    /// prompt.
    #[must_use]
    pub fn text_of(&self, layer: &FrozenLayer) -> &str {
        self.text.get(layer.range.start.saturating_add(layer.separator)..layer.range.end).unwrap_or_default()
    }
}

impl From<&Frozen> for FrozenPrompt {
    fn from(frozen: &Frozen) -> Self {
        Self {
            text: Arc::clone(&frozen.text),
            tokens: frozen.tokens as u64,
            blocks: frozen.blocks.iter().map(FrozenBlock::from).collect(),
            layers: frozen.segments.iter().map(FrozenLayer::from).collect(),
        }
    }
}

/// A section of frozen text that the provider can cache as a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenBlock {
    /// How stable it is.
    pub class: CacheClass,
    /// Its byte range in the text.
    pub range: Range<usize>,
    /// The ids of its layers.
    pub layers: Vec<String>,
    /// Its size in tokens.
    pub tokens: u64,
}

impl From<&Block> for FrozenBlock {
    fn from(block: &Block) -> Self {
        Self {
            class: block.class,
            range: block.range.clone(),
            layers: block.layers.iter().map(ToString::to_string).collect(),
            tokens: block.tokens as u64,
        }
    }
}

/// A layer in a frozen text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenLayer {
    pub id: String,
    /// Its display name.
    pub title: String,
    /// Which layer wins a conflict.
    pub authority: Authority,
    /// How stable its bytes are.
    pub stability: Stability,
    /// The minimum trust for seeing it.
    pub trust: Trust,
    /// The kind of its source.
    pub source: String,
    /// The file or built-in text it came from.
    pub origin: Option<String>,
    /// Whether it was included, cut or omitted.
    pub status: SegmentStatus,
    /// Its byte range in the text, including separator and heading.
    pub range: Range<usize>,
    /// The length of the separator at its start.
    pub separator: usize,
    /// Its size in tokens.
    pub tokens: u64,
    /// The hash of its bytes.
    pub hash: ContentHash,
    /// What was cut out of it.
    pub cut: Option<Cut>,
}

impl From<&Segment> for FrozenLayer {
    fn from(segment: &Segment) -> Self {
        let layer = &segment.layer;
        Self {
            id: layer.id.to_string(),
            title: layer.title.clone(),
            authority: layer.authority,
            stability: layer.stability,
            trust: layer.trust,
            source: segment.kind.to_owned(),
            origin: segment.origin.as_deref().map(str::to_owned),
            status: segment.status,
            range: segment.range.clone(),
            separator: segment.separator,
            tokens: segment.tokens as u64,
            hash: segment.hash,
            cut: segment.cut,
        }
    }
}
