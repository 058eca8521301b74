//! The input of a diagnosis: two shapes, times, the provider's usage, known changes, and access to the current text.

use std::ops::Range;

use foreword_prompt::epoch::Reason;

use super::rules::CacheRules;
use super::shape::{RequestShape, SectionName};
use crate::message::Usage;
use crate::models::ModelFacts;
use crate::timestamp::Timestamp;

/// Reads bytes of a section of the current request. `None` if the text is not available.
pub type Peek<'a> = &'a dyn Fn(&SectionName, Range<usize>) -> Option<Vec<u8>>;

/// The input of a diagnosis.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The previous request of the same conversation.
    pub previous: Previous<'a>,
    /// The current request.
    pub current: &'a RequestShape,
    /// When it was sent.
    pub at: Timestamp,
    /// The last use of the same prefix by any conversation, if later than the previous request.
    pub last_touch: Option<Timestamp>,
    /// Facts about the model.
    pub facts: Option<&'a ModelFacts>,
    /// How the provider caches.
    pub rules: CacheRules,
    /// The reported usage.
    pub reported: Reported,
    /// The provider's own reason for the miss, verbatim.
    pub provider_reason: Option<&'a str>,
    /// Changes known on our side.
    pub known: &'a KnownChanges,
    /// Access to the current text.
    pub peek: Option<Peek<'a>>,
}

impl Evidence<'_> {
    /// The smallest prefix the provider caches, if known.
    pub(super) fn minimum(&self) -> Option<usize> {
        self.facts.and_then(|facts| facts.min_cacheable).or(self.rules.minimum)
    }

    /// The size of the request: as reported by the provider, otherwise estimated.
    pub(super) fn size(&self) -> u64 {
        match self.reported.whole() {
            0 => self.current.tokens() as u64,
            whole => whole,
        }
    }
}

/// The previous request of a conversation.
#[derive(Debug, Clone, Copy)]
pub enum Previous<'a> {
    /// There is none: the conversation starts.
    First,
    /// There is one, but its shape is unknown.
    NotSeen,
    /// There is one with a known shape.
    Seen(PreviousRequest<'a>),
}

/// A previous request with a known shape.
#[derive(Debug, Clone, Copy)]
pub struct PreviousRequest<'a> {
    /// The shape.
    pub shape: &'a RequestShape,
    /// When it was sent.
    pub at: Timestamp,
    /// The reported usage, which gives the exact number of cached tokens.
    pub reported: Option<Reported>,
}

/// The usage a provider reports. No cache numbers is not the same as zero cached tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// Usage with cache reads and writes.
    WithCache(Usage),
    /// Usage without cache numbers.
    WithoutCache(Usage),
}

impl Reported {
    /// The usage, if it includes cache numbers.
    #[must_use]
    pub fn cache(&self) -> Option<&Usage> {
        match self {
            Self::WithCache(usage) => Some(usage),
            Self::WithoutCache(_) => None,
        }
    }

    /// All input tokens of the request.
    pub(super) fn whole(&self) -> u64 {
        let (Self::WithCache(usage) | Self::WithoutCache(usage)) = self;
        usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
    }
}

/// Changes between the previous request and this one that our side knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownChanges {
    /// Why a new epoch began, if one did.
    pub epoch: Option<Reason>,
    /// Edited layers.
    pub edited: Vec<EditedLayer>,
}

/// An edited layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedLayer {
    /// The layer's id.
    pub layer: String,
    /// The layer's file, if it has one.
    pub file: Option<String>,
}
