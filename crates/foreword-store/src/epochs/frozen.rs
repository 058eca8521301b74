//! A frozen prompt in the form it is stored: its text, and what a report and a cache plan say of it. The layers
//! themselves are not here: they are the blueprint's, which may be another one by now.

use std::ops::Range;
use std::sync::Arc;

use foreword_prompt::cut::Cut;
use foreword_prompt::layer::{Authority, Stability};
use foreword_prompt::prompt::{Block, CacheClass, Frozen, Segment, Status};
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use serde::{Deserialize, Serialize};

/// The part of a prompt that does not change within an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenPrompt {
    /// The text, as the model reads it.
    pub text: Arc<str>,
    /// What it weighs.
    pub tokens: u64,
    /// Its blocks; a cache breakpoint can go behind each.
    pub blocks: Vec<FrozenBlock>,
    /// Its layers, in physical order.
    pub layers: Vec<FrozenLayer>,
}

impl FrozenPrompt {
    /// The words of one of its layers with their heading, without the separator before them. Nothing, if it is a layer
    /// of another prompt.
    #[must_use]
    pub fn words(&self, layer: &FrozenLayer) -> &str {
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

/// A stretch of frozen text that the provider can cache as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenBlock {
    /// How long it stays the same.
    pub class: CacheClass,
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// The layers in it.
    pub layers: Vec<String>,
    /// What it weighs.
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

/// A layer as it stands in a frozen text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenLayer {
    /// Its name.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Which layer wins a conflict.
    pub authority: Authority,
    /// How long its bytes stay the same.
    pub stability: Stability,
    /// Who may see it.
    pub trust: Trust,
    /// The kind of source its text came from.
    pub source: String,
    /// The file or built-in text it came from.
    pub origin: Option<String>,
    /// What became of it.
    pub status: Status,
    /// Its bytes in the text, separator and heading included.
    pub range: Range<usize>,
    /// How many of its first bytes are the separator before it.
    pub separator: usize,
    /// What it weighs.
    pub tokens: u64,
    /// The name of its bytes.
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
