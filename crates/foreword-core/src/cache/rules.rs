//! How providers cache, as data: what they need, where they look and how long they keep it. What differs from model to
//! model (smallest size, prices) is with the models.

use std::time::Duration;

use crate::models::caching::{
    AUTOMATIC_IDLE, AUTOMATIC_MINIMUM, AUTOMATIC_STEP, LOOK_BACK, MARKED_IDLE_OPENAI, MOST_MARKS,
};
use crate::models::{Breakpoints, ModelFacts, ModelId};
use crate::price::CacheTtl;

/// How a provider caches. Plain data: whoever asked for a longer retention changes the row it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRules {
    /// How it is told what to cache.
    pub breakpoints: Breakpoints,
    /// The most breakpoints it takes.
    pub most_breakpoints: Option<usize>,
    /// How many blocks before a breakpoint it looks for something cached, the marked one included.
    pub look_back: Option<usize>,
    /// In steps of how many tokens it reads.
    pub step: usize,
    /// The smallest prefix it caches, where the model's own is not known.
    pub minimum: Option<usize>,
    /// How long it keeps what was written or read.
    pub kept: Kept,
}

/// How long a prefix is kept after it was last used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// As long as its breakpoint says.
    AsMarked,
    /// At least so long, and at most so long if anybody says.
    Between(Duration, Option<Duration>),
}

const MINUTE: u64 = 60;

/// By provider and way of caching.
const TABLE: [(&str, Breakpoints, CacheRules); 3] = [
    (
        "anthropic",
        Breakpoints::Explicit,
        CacheRules {
            breakpoints: Breakpoints::Explicit,
            most_breakpoints: Some(MOST_MARKS),
            look_back: Some(LOOK_BACK),
            step: 1,
            minimum: None,
            kept: Kept::AsMarked,
        },
    ),
    (
        "openai",
        Breakpoints::Automatic,
        CacheRules {
            breakpoints: Breakpoints::Automatic,
            most_breakpoints: None,
            look_back: None,
            step: AUTOMATIC_STEP,
            minimum: Some(AUTOMATIC_MINIMUM),
            kept: Kept::Between(Duration::from_secs(AUTOMATIC_IDLE), Some(Duration::from_secs(60 * MINUTE))),
        },
    ),
    (
        "openai",
        Breakpoints::Either,
        CacheRules {
            breakpoints: Breakpoints::Either,
            // It writes the latest ones and passes over the others: more are no fault.
            most_breakpoints: None,
            look_back: None,
            step: AUTOMATIC_STEP,
            minimum: Some(AUTOMATIC_MINIMUM),
            kept: Kept::Between(Duration::from_secs(MARKED_IDLE_OPENAI), None),
        },
    ),
];

impl CacheRules {
    /// The rules for `model`, by its provider and what is known about it. Of a provider that is not in the table only the
    /// order of the text counts.
    ///
    /// ```
    /// use foreword_core::cache::CacheRules;
    /// use foreword_core::models::ModelCatalog;
    /// let catalog = ModelCatalog::builtin();
    /// let facts = catalog.find("anthropic/claude-haiku-4-5").unwrap();
    /// assert_eq!(CacheRules::of(&facts.id, Some(facts)).most_breakpoints, Some(4));
    /// ```
    #[must_use]
    pub fn of(model: &ModelId, facts: Option<&ModelFacts>) -> Self {
        let breakpoints = facts.map_or(Breakpoints::None, |facts| facts.breakpoints);
        let row =
            TABLE.iter().find(|(provider, way, _)| *provider == model.provider() && *way == breakpoints);
        // Somebody else's server with Anthropic's marks is taken at its word for them, and for nothing more.
        row.map_or(Self { breakpoints, ..Self::ORDER_ALONE }, |(_, _, rules)| *rules)
    }

    /// A provider of which nothing is known.
    pub const ORDER_ALONE: Self = Self {
        breakpoints: Breakpoints::None,
        most_breakpoints: None,
        look_back: None,
        step: AUTOMATIC_STEP,
        minimum: None,
        kept: Kept::Between(Duration::from_secs(AUTOMATIC_IDLE), None),
    };

    /// Whether what was last used `ago` can still be there.
    pub(super) fn expiry(&self, ttl: Option<CacheTtl>, ago: Duration) -> Expiry {
        let (least, most) = match (self.kept, ttl) {
            (Kept::AsMarked, Some(CacheTtl::OneHour)) => (60 * MINUTE, Some(60 * MINUTE)),
            (Kept::AsMarked, _) => (5 * MINUTE, Some(5 * MINUTE)),
            (Kept::Between(least, most), _) => (least.as_secs(), most.map(|most| most.as_secs())),
        };
        match ago.as_secs() {
            ago if most.is_some_and(|most| ago > most) => Expiry::Gone,
            ago if ago > least => Expiry::Perhaps,
            _ => Expiry::There,
        }
    }
}

/// Whether something can still be in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    There,
    Perhaps,
    Gone,
}
