//! A finished prompt: frozen text shared by all turns of an epoch, and the turn context. Records the position, tokens
//! and status of each layer. Built by [`crate::assemble`]; described by [`crate::report`].

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::TokenBudget;
use crate::cut::Cut;
use crate::dynamic::runtime_at;
use crate::layer::{Dynamic, Layer, LayerId, Source, Stability};
use crate::occasion::{FormattedTime, Occasion};
use crate::plan::LeftOut;
use crate::text::ContentHash;
use crate::tokens::TokenCounter;
use crate::trust::TrustDecision;

/// The opening tag of the turn context in a message.
pub const TURN_OPEN: &str = "<turn-context>\n";
/// The closing tag.
pub const TURN_CLOSE: &str = "\n</turn-context>";
/// The separator between the frozen text and the turn context when both are read as one.
pub const BEFORE_TURN: &str = "\n\n";

/// Where the turn's context goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TurnPlacement {
    /// At the head of the new user message.
    #[default]
    Message,
    /// As the last system block, behind the last breakpoint.
    System,
}

/// The status of a layer that this reader may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SegmentStatus {
    /// In the prompt, whole.
    Included,
    /// In the prompt, with a part cut out.
    Cut,
    /// A line of the memory menu.
    Menu,
}

/// A rendered layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The layer.
    pub layer: Arc<Layer>,
    /// The kind of its actual source.
    pub kind: &'static str,
    /// The file or text it came from.
    pub origin: Option<Arc<str>>,
    /// Its status.
    pub status: SegmentStatus,
    /// Its byte range, including separator and heading.
    pub range: Range<usize>,
    /// The length of the separator before it, in bytes.
    pub separator: usize,
    /// Its tokens.
    pub tokens: usize,
    /// The hash of its bytes.
    pub hash: ContentHash,
    /// The removed part.
    pub cut: Option<Cut>,
}

/// A range of system text that the provider can cache as a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// How long it stays unchanged.
    pub class: CacheClass,
    /// Its bytes in the frozen text.
    pub range: Range<usize>,
    /// The layers in it.
    pub layers: Vec<LayerId>,
    /// Its tokens.
    pub tokens: usize,
}

/// How long a block can stay in the provider's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheClass {
    /// Shared by every agent.
    Static,
    /// Shared by all conversations of one agent at one trust.
    Agent,
    /// One conversation's own.
    Conversation,
    /// Not cached.
    None,
}

impl From<Stability> for CacheClass {
    fn from(stability: Stability) -> Self {
        match stability {
            Stability::Static => Self::Static,
            Stability::Agent => Self::Agent,
            Stability::Conversation => Self::Conversation,
            Stability::Turn => Self::None,
        }
    }
}

/// The part of a prompt that does not change within an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// The text, as the model reads it.
    pub text: Arc<str>,
    /// Its blocks; a cache breakpoint follows each.
    pub blocks: Vec<Block>,
    /// Its layers, in physical order.
    pub segments: Vec<Segment>,
    /// Its tokens.
    pub tokens: usize,
    /// The hash of its bytes.
    pub fingerprint: ContentHash,
}

impl Frozen {
    /// The text of one of its layers with the heading, without the separator.
    #[must_use]
    pub fn text_of(&self, segment: &Segment) -> &str {
        &self.text[segment.range.start + segment.separator..segment.range.end]
    }
}

/// A turn layer's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSegment {
    /// The segment; its range is within the turn context, including the marks.
    pub segment: Segment,
    /// Its text, separator and heading included.
    pub text: Arc<str>,
}

/// A warning for the owner about a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable name for this kind of warning.
    pub code: &'static str,
    /// The layer it is about, if it is about one.
    pub layer: Option<LayerId>,
    /// The message.
    pub message: String,
    /// Whether it mentions something that the reader of the prompt may not see.
    #[serde(skip)]
    pub for_owner: bool,
}

/// A finished prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The frozen part.
    pub frozen: Arc<Frozen>,
    /// The turn's layers, in order.
    pub turn: Vec<TurnSegment>,
    /// Where the turn's layers go.
    pub placement: TurnPlacement,
    /// The facts of the build.
    pub facts: Arc<BuildFacts>,
}

/// The facts of a build, for its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFacts {
    /// The trust decision.
    pub trust: TrustDecision,
    /// The token budget.
    pub budget: TokenBudget,
    /// The token counter.
    pub counter: &'static str,
    /// The blueprint's name for reports.
    pub blueprint: Arc<str>,
    /// Whether this is the compact form.
    pub compact: bool,
    /// The separator between two layers.
    pub separator: Arc<str>,
    /// Layers moved to the menu.
    pub in_menu: Vec<Segment>,
    /// Layers this reader may not see.
    pub withheld: Vec<LeftOut>,
    /// Layers that do not exist on this occasion.
    pub absent: Vec<LeftOut>,
    /// Layers without text.
    pub empty: Vec<LeftOut>,
    /// Warnings for the owner.
    pub warnings: Vec<Warning>,
}

impl Prompt {
    /// The turn context as the model reads it, or `None` if it is empty.
    #[must_use]
    pub fn turn_context(&self) -> Option<String> {
        if self.turn.is_empty() {
            return None;
        }
        let (open, close) = self.marks();
        let size: usize = self.turn.iter().map(|segment| segment.text.len()).sum();
        let mut out = String::with_capacity(open.len() + size + close.len());
        out.push_str(open);
        for segment in &self.turn {
            out.push_str(&segment.text);
        }
        out.push_str(close);
        Some(out)
    }

    /// All of it as the model reads it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = self.frozen.text.to_string();
        out.extend(self.turn_context_after(&self.frozen.text));
        out
    }

    /// The turn context with the separator after the frozen text `frozen`. With the context in the system prompt, this
    /// is the last system block.
    #[must_use]
    pub fn turn_context_after(&self, frozen: &str) -> Option<String> {
        let turn = self.turn_context()?;
        Some(format!("{}{turn}", self.separator_after(frozen)))
    }

    /// The separator between the frozen text and the turn context.
    #[must_use]
    pub fn before_turn(&self) -> &str {
        self.separator_after(&self.frozen.text)
    }

    fn separator_after(&self, frozen: &str) -> &str {
        match self.placement {
            _ if frozen.is_empty() || self.turn.is_empty() => "",
            TurnPlacement::Message => BEFORE_TURN,
            TurnPlacement::System => &self.facts.separator,
        }
    }

    /// The tokens of the turn's context.
    #[must_use]
    pub fn turn_tokens(&self) -> usize {
        self.turn.iter().map(|segment| segment.segment.tokens).sum()
    }

    /// All tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.frozen.tokens + self.turn_tokens()
    }

    /// Whether there is no system prompt to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frozen.text.is_empty() && self.turn.is_empty()
    }

    /// The same prompt at another time: renders only the runtime lines again. `None` if the new lines have another
    /// token count or the old ones were cut, since the budget must then be computed again.
    #[must_use]
    pub fn at_time(&self, occasion: &Occasion, counter: &dyn TokenCounter) -> Option<Self> {
        let is_clock = |segment: &Segment| segment.layer.source == Source::Dynamic(Dynamic::Runtime);
        if self.facts.in_menu.iter().any(is_clock) {
            return None;
        }
        let mut out = self.clone();
        let mut at = 0;
        for (index, one) in out.turn.iter_mut().enumerate() {
            let mut length = one.segment.range.len();
            if is_clock(&one.segment) {
                if one.segment.cut.is_some() {
                    return None;
                }
                let text = clock_text(one, &occasion.now);
                if counter.count(&text) + self.marks_weight(index, counter) != one.segment.tokens {
                    return None;
                }
                length = length + text.len() - one.text.len();
                one.segment.hash = ContentHash::of(&text);
                one.text = text.into();
            }
            one.segment.range = at..at + length;
            at += length;
        }
        Some(out)
    }

    /// The tokens of the marks that belong to the turn layer at `index`.
    fn marks_weight(&self, index: usize, counter: &dyn TokenCounter) -> usize {
        let (open, close) = self.marks();
        let first = if index == 0 { counter.count(open) } else { 0 };
        let last = if index + 1 == self.turn.len() { counter.count(close) } else { 0 };
        first + last
    }

    pub(crate) fn marks(&self) -> (&'static str, &'static str) {
        marks(self.placement)
    }
}

/// The text of a runtime layer at another time.
fn clock_text(one: &TurnSegment, now: &FormattedTime) -> String {
    let heading = one.segment.layer.heading.as_ref().map_or(0, |heading| heading.len() + "\n\n".len());
    let (before, lines) = one.text.split_at(one.segment.separator + heading);
    let mut text = String::with_capacity(one.text.len() + 32);
    text.push_str(before);
    text.push_str(&runtime_at(lines, now));
    text
}

/// The opening and closing marks of the turn context; empty in a system block.
pub(crate) fn marks(placement: TurnPlacement) -> (&'static str, &'static str) {
    match placement {
        TurnPlacement::Message => (TURN_OPEN, TURN_CLOSE),
        TurnPlacement::System => ("", ""),
    }
}
