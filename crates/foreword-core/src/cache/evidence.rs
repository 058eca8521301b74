//! What a diagnosis goes by: two shapes, times, what the provider reported, what our own side knows, and a look at the
//! text as it is now.

use std::ops::Range;

use foreword_prompt::epoch::Reason;

use super::rules::CacheRules;
use super::shape::{RequestShape, SectionName};
use crate::message::Usage;
use crate::models::ModelFacts;
use crate::timestamp::Timestamp;

/// Looks at bytes of a section of the current request, as they were given to its shape. `None` if they are not at hand.
pub type Peek<'a> = &'a dyn Fn(&SectionName, Range<usize>) -> Option<Vec<u8>>;

/// Everything there is to go by.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The request before this one in the same conversation.
    pub previous: Previous<'a>,
    /// The request.
    pub current: &'a RequestShape,
    /// When it was sent.
    pub at: Timestamp,
    /// When anybody last used the same prefix, if that was later than the previous request.
    pub last_touch: Option<Timestamp>,
    /// What is known about the model.
    pub facts: Option<&'a ModelFacts>,
    /// How its provider caches.
    pub rules: CacheRules,
    /// What the provider says it took.
    pub reported: Reported,
    /// Why the provider itself says it missed, in its own words.
    pub provider_reason: Option<&'a str>,
    /// What our own side knows.
    pub known: &'a Known,
    /// A look at the current text.
    pub peek: Option<Peek<'a>>,
}

impl Evidence<'_> {
    /// The smallest prefix the provider caches, if known.
    pub(super) fn minimum(&self) -> Option<usize> {
        self.facts.and_then(|facts| facts.min_cacheable).or(self.rules.minimum)
    }

    /// How many tokens the request has: as the provider counted them, else as estimated.
    pub(super) fn size(&self) -> u64 {
        match self.reported.whole() {
            0 => self.current.tokens() as u64,
            whole => whole,
        }
    }
}

/// The request before.
#[derive(Debug, Clone, Copy)]
pub enum Previous<'a> {
    /// There was none: the conversation begins.
    First,
    /// There was one, and nobody kept its shape.
    NotSeen,
    /// This one.
    Seen(Seen<'a>),
}

/// A request that was seen.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Its shape.
    pub shape: &'a RequestShape,
    /// When it was sent.
    pub at: Timestamp,
    /// What the provider said it took. Then it is known to the token what was in the cache.
    pub reported: Option<Reported>,
}

/// What a provider says a call took. That it says nothing of a cache is not the same as nothing read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// With what was read from the cache and written to it.
    WithCache(Usage),
    /// Without a word about a cache.
    WithoutCache(Usage),
}

impl Reported {
    /// The usage, if it tells of the cache.
    #[must_use]
    pub fn cache(&self) -> Option<&Usage> {
        match self {
            Self::WithCache(usage) => Some(usage),
            Self::WithoutCache(_) => None,
        }
    }

    /// All tokens of the request.
    pub(super) fn whole(&self) -> u64 {
        let (Self::WithCache(usage) | Self::WithoutCache(usage)) = self;
        usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
    }
}

/// What our own side knows of the way from the previous request to this one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// Why a new epoch was opened, if one was.
    pub epoch: Option<Reason>,
    /// Layers whose text was edited.
    pub edited: Vec<EditedLayer>,
}

/// A layer that was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedLayer {
    /// Which one.
    pub layer: String,
    /// The file it is from, if it is from one.
    pub file: Option<String>,
}
