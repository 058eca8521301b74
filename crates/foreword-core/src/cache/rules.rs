//! How providers cache, as data: what they need, where they look and how long they keep it. What differs from model to
//! model (smallest size, prices) is with the models.

use std::time::Duration;

use crate::models::caching::{AUTOMATIC_IDLE, AUTOMATIC_MINIMUM, AUTOMATIC_STEP, LOOK_BACK, MOST_MARKS};
use crate::models::{Assumed, Breakpoints, CacheMatch, ModelFacts, ModelId, Retention};
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
    /// Which part of a prompt it finds.
    pub matches: CacheMatch,
    /// The smallest prefix it caches, where the model's own is not known.
    pub minimum: Option<usize>,
    /// How long it keeps what was written or read.
    pub kept: Kept,
    /// Which of these rules no documentation states.
    pub assumed: AssumedRules,
}

/// Which cache rules are assumed because no documentation states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AssumedRules {
    /// How long a prefix is kept.
    pub retention: bool,
    /// In which step it is read.
    pub step: bool,
    /// The smallest prefix.
    pub minimum: bool,
}

/// How long a prefix is kept after it was last used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// As long as its breakpoint says.
    AsMarked,
    /// At least so long, and at most so long if anybody says.
    Between(Duration, Option<Duration>),
}

const STATED: AssumedRules = AssumedRules { retention: false, step: false, minimum: false };

/// By provider and way of caching. Retention and step of a model are in its data and win over these.
const TABLE: [(&str, Breakpoints, CacheRules); 3] = [
    (
        "anthropic",
        Breakpoints::Explicit,
        CacheRules {
            breakpoints: Breakpoints::Explicit,
            most_breakpoints: Some(MOST_MARKS),
            look_back: Some(LOOK_BACK),
            step: 1,
            matches: CacheMatch::Prefix,
            minimum: None,
            kept: Kept::AsMarked,
            assumed: STATED,
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
            matches: CacheMatch::Prefix,
            minimum: Some(AUTOMATIC_MINIMUM),
            kept: Kept::Between(Duration::from_secs(AUTOMATIC_IDLE), None),
            assumed: STATED,
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
            step: 1,
            matches: CacheMatch::Prefix,
            minimum: Some(AUTOMATIC_MINIMUM),
            kept: Kept::Between(Duration::from_secs(AUTOMATIC_IDLE), None),
            assumed: STATED,
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
        // A gateway's cache is that of the provider behind it, as far as anybody knows.
        let provider = facts.and_then(|facts| facts.assumed_from.as_ref()).unwrap_or(model).provider();
        let row = TABLE.iter().find(|(name, way, _)| *name == provider && *way == breakpoints);
        // Somebody else's server with Anthropic's marks is taken at its word for them, and for nothing more.
        let rules = row.map_or(Self { breakpoints, ..Self::ORDER_ALONE }, |(_, _, rules)| *rules);
        facts.map_or(rules, |facts| rules.with(facts))
    }

    /// The same rules with what the data of a model says.
    fn with(self, facts: &ModelFacts) -> Self {
        let is_assumed = |fact| facts.assumed.contains(&fact);
        let minimum = facts.min_cacheable.or(self.minimum);
        let mut rules = Self { minimum, matches: facts.cache_match, ..self };
        rules.assumed.minimum = minimum.is_some() && is_assumed(Assumed::MinCacheable);
        if let Some(step) = facts.cache_step {
            rules.step = step;
            rules.assumed.step = false;
        }
        rules.assumed.step |= is_assumed(Assumed::CacheStep);
        if let Some(Retention { min_seconds, max_seconds }) = facts.cache_retention {
            rules.kept =
                Kept::Between(Duration::from_secs(min_seconds), max_seconds.map(Duration::from_secs));
            rules.assumed.retention = false;
        }
        rules.assumed.retention |= is_assumed(Assumed::CacheRetention);
        rules
    }

    /// A provider of which nothing is known.
    pub const ORDER_ALONE: Self = Self {
        breakpoints: Breakpoints::None,
        most_breakpoints: None,
        look_back: None,
        step: AUTOMATIC_STEP,
        matches: CacheMatch::Prefix,
        minimum: None,
        kept: Kept::Between(Duration::from_secs(AUTOMATIC_IDLE), None),
        assumed: AssumedRules { retention: true, step: true, minimum: false },
    };

    /// Whether what was last used `ago` can still be there.
    pub(super) fn expiry(&self, ttl: Option<CacheTtl>, ago: Duration) -> Expiry {
        let (least, most) = match self.kept {
            Kept::AsMarked => {
                let marked = ttl.unwrap_or_default().seconds();
                (marked, Some(marked))
            }
            Kept::Between(least, most) => (least.as_secs(), most.map(|most| most.as_secs())),
        };
        match ago.as_secs() {
            // What is assumed is never certain.
            ago if most.is_some_and(|most| ago > most) && !self.assumed.retention => Expiry::Gone,
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
