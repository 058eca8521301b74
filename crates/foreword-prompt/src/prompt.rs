//! A finished prompt: frozen text shared by every turn of an epoch, and the turn's own context. Knows where each layer
//! is, what it weighs, and what was left out. Made by [`crate::assemble`]; described by [`crate::report`].

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::cut::Cut;
use crate::dynamic::runtime_at;
use crate::layer::{Dynamic, Layer, LayerId, Source, Stability};
use crate::occasion::{Moment, Occasion};
use crate::plan::LeftOut;
use crate::text::ContentHash;
use crate::tokens::TokenCounter;
use crate::trust::TrustDecision;

/// What opens the turn's context in a message.
pub const TURN_OPEN: &str = "<turn-context>\n";
/// What closes it.
pub const TURN_CLOSE: &str = "\n</turn-context>";
/// What stands between the frozen text and the turn's context when both are read as one.
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

/// What became of a layer that this person may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// In the prompt, whole.
    Included,
    /// In the prompt, with a part cut out.
    Cut,
    /// A line of the memory menu.
    Menu,
}

/// A layer rendered for one occasion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The layer.
    pub layer: Arc<Layer>,
    /// The kind of source its text really came from.
    pub kind: &'static str,
    /// The file or text it came from.
    pub origin: Option<Arc<str>>,
    /// What became of it.
    pub status: Status,
    /// Its bytes in the text it is part of, separator and heading included.
    pub range: Range<usize>,
    /// How many of its first bytes are the separator before it.
    pub separator: usize,
    /// What it weighs there.
    pub tokens: usize,
    /// The name of its bytes.
    pub hash: ContentHash,
    /// What was cut out of it.
    pub cut: Option<Cut>,
}

/// A stretch of system text that the provider can cache as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// How long it stays the same.
    pub class: CacheClass,
    /// Its bytes in the frozen text.
    pub range: Range<usize>,
    /// The layers in it.
    pub layers: Vec<LayerId>,
    /// What it weighs.
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
    /// Its blocks; a cache breakpoint goes behind each.
    pub blocks: Vec<Block>,
    /// Its layers, in physical order.
    pub segments: Vec<Segment>,
    /// What it weighs.
    pub tokens: usize,
    /// The name of its bytes.
    pub fingerprint: ContentHash,
}

impl Frozen {
    /// The words of one of its layers with their heading, wherever it stands: the separator is not one of them.
    #[must_use]
    pub fn words(&self, segment: &Segment) -> &str {
        &self.text[segment.range.start + segment.separator..segment.range.end]
    }
}

/// A turn layer's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSegment {
    /// What it is; its range is within the turn's context, marks included.
    pub segment: Segment,
    /// Its text, separator and heading included.
    pub text: Arc<str>,
}

/// Something the owner should know about a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable name for this kind of warning.
    pub code: &'static str,
    /// The layer it is about, if it is about one.
    pub layer: Option<LayerId>,
    /// What to know.
    pub message: String,
    /// Whether it speaks of something the person the prompt is for may not know of.
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
    /// What was known when it was built.
    pub facts: Arc<BuildFacts>,
}

/// What was known when a prompt was built, for its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFacts {
    /// The trust that decided.
    pub trust: TrustDecision,
    /// What it may weigh.
    pub budget: Budget,
    /// Who counted the tokens.
    pub counter: &'static str,
    /// The blueprint's name for reports.
    pub blueprint: Arc<str>,
    /// Whether this is the compact form.
    pub compact: bool,
    /// What stands between two layers.
    pub separator: Arc<str>,
    /// Layers that are lines of the menu now.
    pub in_menu: Vec<Segment>,
    /// Layers this person may not see.
    pub withheld: Vec<LeftOut>,
    /// Layers that are not there on this occasion.
    pub absent: Vec<LeftOut>,
    /// Layers that are there and have nothing in them.
    pub empty: Vec<LeftOut>,
    /// What the owner should know.
    pub warnings: Vec<Warning>,
}

impl Prompt {
    /// The turn's context as the model reads it, or `None` if there is nothing to say.
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

    /// The turn's context as it follows the frozen text that is sent, with the separator between them. In a request with the
    /// context in the system prompt this is the last system block.
    #[must_use]
    pub fn turn_context_after(&self, frozen: &str) -> Option<String> {
        let turn = self.turn_context()?;
        Some(format!("{}{turn}", self.separator_after(frozen)))
    }

    /// What stands between the frozen text and the turn's context.
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

    /// Whether there is no system prompt to send at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frozen.text.is_empty() && self.turn.is_empty()
    }

    /// The same prompt at another time: only the runtime lines are put into words again. `None` if the new words weigh
    /// something else or the old ones were cut, for then the budget and the menu have to be decided anew.
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

    /// What the marks weigh that count as part of the turn's layer at `index`.
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
fn clock_text(one: &TurnSegment, now: &Moment) -> String {
    let heading = one.segment.layer.heading.as_ref().map_or(0, |heading| heading.len() + "\n\n".len());
    let (before, lines) = one.text.split_at(one.segment.separator + heading);
    let mut text = String::with_capacity(one.text.len() + 32);
    text.push_str(before);
    text.push_str(&runtime_at(lines, now));
    text
}

/// What opens and closes the turn's context: in a system block the layers speak for themselves.
pub(crate) fn marks(placement: TurnPlacement) -> (&'static str, &'static str) {
    match placement {
        TurnPlacement::Message => (TURN_OPEN, TURN_CLOSE),
        TurnPlacement::System => ("", ""),
    }
}
