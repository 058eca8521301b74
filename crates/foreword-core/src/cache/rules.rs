//! How providers cache, as data: markers, lookback and retention. Values that differ by model (minimum size, prices)
//! are in the model table.

use std::time::Duration;

use crate::models::cache_limits::{
    AUTOMATIC_IDLE, AUTOMATIC_MINIMUM, AUTOMATIC_STEP, LOOKBACK_BLOCKS, MAX_BREAKPOINTS,
};
use crate::models::{Assumed, Breakpoints, CacheMatch, ModelFacts, ModelId, Retention};
use crate::price::CacheTtl;

/// How a provider caches. Plain data: callers that request a longer retention change their copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRules {
    /// How cache breakpoints are set.
    pub breakpoints: Breakpoints,
    /// The maximum number of breakpoints.
    pub max_breakpoints: Option<usize>,
    /// The lookback from a breakpoint in blocks, the marked block included.
    pub look_back: Option<usize>,
    /// The granularity of cache reads, in tokens.
    pub step: usize,
    /// Which part of a prompt matches.
    pub matches: CacheMatch,
    /// The smallest cached prefix, for models without their own value.
    pub minimum: Option<usize>,
    /// How long a prefix is kept after its last use.
    pub kept: RetentionRule,
    /// Which of these rules no documentation states.
    pub assumed: AssumedRules,
}

/// Which cache rules are assumed because no documentation states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AssumedRules {
    /// How long a prefix is kept.
    pub retention: bool,
    /// The granularity of cache reads.
    pub step: bool,
    /// The smallest cached prefix.
    pub minimum: bool,
}

/// How long a prefix is kept after its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionRule {
    /// As long as its breakpoint requests.
    AsMarked,
    /// At least the first duration; at most the second, if documented.
    Between(Duration, Option<Duration>),
}

const STATED: AssumedRules = AssumedRules { retention: false, step: false, minimum: false };

/// By provider and kind of breakpoints. Retention and step in the model table take precedence.
const TABLE: [(&str, Breakpoints, CacheRules); 3] = [
    (
        "anthropic",
        Breakpoints::Explicit,
        CacheRules {
            breakpoints: Breakpoints::Explicit,
            max_breakpoints: Some(MAX_BREAKPOINTS),
            look_back: Some(LOOKBACK_BLOCKS),
            step: 1,
            matches: CacheMatch::Prefix,
            minimum: None,
            kept: RetentionRule::AsMarked,
            assumed: STATED,
        },
    ),
    (
        "openai",
        Breakpoints::Automatic,
        CacheRules {
            breakpoints: Breakpoints::Automatic,
            max_breakpoints: None,
            look_back: None,
            step: AUTOMATIC_STEP,
            matches: CacheMatch::Prefix,
            minimum: Some(AUTOMATIC_MINIMUM),
            kept: RetentionRule::Between(Duration::from_secs(AUTOMATIC_IDLE), None),
            assumed: STATED,
        },
    ),
    (
        "openai",
        Breakpoints::Either,
        CacheRules {
            breakpoints: Breakpoints::Either,
            // The provider uses the latest ones and ignores the rest, so more than that is not an error.
            max_breakpoints: None,
            look_back: None,
            step: 1,
            matches: CacheMatch::Prefix,
            minimum: Some(AUTOMATIC_MINIMUM),
            kept: RetentionRule::Between(Duration::from_secs(AUTOMATIC_IDLE), None),
            assumed: STATED,
        },
    ),
];

impl CacheRules {
    /// The rules for `model`, by its provider and facts. For a provider that is not in the table, only the order of the
    /// text counts.
    ///
    /// ```
    /// use foreword_core::cache::CacheRules;
    /// use foreword_core::models::ModelCatalog;
    /// let catalog = ModelCatalog::builtin();
    /// let facts = catalog.find("anthropic/claude-haiku-4-5").unwrap();
    /// assert_eq!(CacheRules::of(&facts.id, Some(facts)).max_breakpoints, Some(4));
    /// ```
    #[must_use]
    pub fn of(model: &ModelId, facts: Option<&ModelFacts>) -> Self {
        let breakpoints = facts.map_or(Breakpoints::None, |facts| facts.breakpoints);
        // A gateway is assumed to use the cache of the provider behind it.
        let provider = facts.and_then(|facts| facts.assumed_from.as_ref()).unwrap_or(model).provider();
        let row = TABLE.iter().find(|(name, way, _)| *name == provider && *way == breakpoints);
        // An unknown server that accepts Anthropic's markers is assumed to honour them, nothing more.
        let rules = row.map_or(Self { breakpoints, ..Self::UNKNOWN_PROVIDER }, |(_, _, rules)| *rules);
        facts.map_or(rules, |facts| rules.with(facts))
    }

    /// Applies the values from the model table.
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
            rules.kept = RetentionRule::Between(
                Duration::from_secs(min_seconds),
                max_seconds.map(Duration::from_secs),
            );
            rules.assumed.retention = false;
        }
        rules.assumed.retention |= is_assumed(Assumed::CacheRetention);
        rules
    }

    /// Rules for an unknown provider.
    pub const UNKNOWN_PROVIDER: Self = Self {
        breakpoints: Breakpoints::None,
        max_breakpoints: None,
        look_back: None,
        step: AUTOMATIC_STEP,
        matches: CacheMatch::Prefix,
        minimum: None,
        kept: RetentionRule::Between(Duration::from_secs(AUTOMATIC_IDLE), None),
        assumed: AssumedRules { retention: true, step: true, minimum: false },
    };

    /// Whether a prefix that was last used `ago` can still be in the cache.
    pub(super) fn expiry(&self, ttl: Option<CacheTtl>, ago: Duration) -> Expiry {
        let (least, most) = match self.kept {
            RetentionRule::AsMarked => {
                let marked = ttl.unwrap_or_default().seconds();
                (marked, Some(marked))
            }
            RetentionRule::Between(least, most) => (least.as_secs(), most.map(|most| most.as_secs())),
        };
        match ago.as_secs() {
            // An assumed retention is never certain.
            ago if most.is_some_and(|most| ago > most) && !self.assumed.retention => Expiry::Gone,
            ago if ago > least => Expiry::Perhaps,
            _ => Expiry::There,
        }
    }
}

/// Whether a prefix can still be in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    There,
    Perhaps,
    Gone,
}
