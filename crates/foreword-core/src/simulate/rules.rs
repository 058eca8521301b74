//! How a provider's cache works, as data: lookup, minimum size and retention. The figures are those of
//! `models::cache_limits`; prices are in the model table.

use crate::models::cache_limits::{
    AUTOMATIC_IDLE, AUTOMATIC_MINIMUM, AUTOMATIC_STEP, LOOKBACK_BLOCKS, LOOKBACK_BLOCKS_OPENAI,
};
use crate::models::{Breakpoints, CacheMatch, ModelFacts};
use crate::price::CacheTtl;

/// How a cache finds a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLookup {
    /// At breakpoints only: the longest prefix that ends at a breakpoint of an earlier request, at most `look_back`
    /// segments before one of this request.
    AtMarks {
        /// The number of segments checked, the marked one included.
        look_back: usize,
    },
    /// The same, and the provider marks the end of each request itself.
    AtMarksAndTheEnd {
        /// The number of segments checked, the marked one included.
        look_back: usize,
    },
    /// Only a whole earlier request: the provider marks the end of each request, and accepts no other breakpoints.
    AtTheEnd,
    /// The longest known prefix, in whole steps.
    LongestPrefix {
        /// The step, in tokens.
        step: usize,
        /// Whether writes have their own price.
        writes: bool,
    },
    /// Never.
    Nothing,
}

/// How a provider's cache works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheModel {
    /// How it finds a prefix.
    pub finding: CacheLookup,
    /// The smallest prefix it caches, in tokens.
    pub minimum: usize,
    /// The retention after the last use for five-minute breakpoints and automatic caching, in seconds.
    pub kept: u64,
    /// The retention for one-hour breakpoints, in seconds.
    pub kept_for_an_hour: u64,
}

impl CacheModel {
    /// The cache model of a model with these facts. `idle` overrides the retention of an automatic cache, in seconds.
    #[must_use]
    pub fn of(facts: &ModelFacts, idle: Option<u64>) -> Self {
        let minimum = facts.min_cacheable.unwrap_or(0);
        let retention = facts.retention(CacheTtl::FiveMinutes);
        let same = |finding, minimum, kept| Self { finding, minimum, kept, kept_for_an_hour: kept };
        match facts.breakpoints {
            Breakpoints::Explicit => Self {
                finding: CacheLookup::AtMarks { look_back: LOOKBACK_BLOCKS },
                minimum,
                kept: CacheTtl::FiveMinutes.seconds(),
                kept_for_an_hour: CacheTtl::OneHour.seconds(),
            },
            Breakpoints::Either => {
                let finding = CacheLookup::AtMarksAndTheEnd { look_back: LOOKBACK_BLOCKS_OPENAI };
                same(finding, minimum, idle.unwrap_or(retention.min_seconds))
            }
            Breakpoints::Automatic => {
                let writes = facts.prices_at(0).is_some_and(|prices| prices.cache_write_5m.is_some());
                let step = facts.cache_step.unwrap_or(AUTOMATIC_STEP);
                let finding = match facts.cache_match {
                    CacheMatch::Units => CacheLookup::AtTheEnd,
                    CacheMatch::Prefix => CacheLookup::LongestPrefix { step, writes },
                };
                let minimum = facts.min_cacheable.unwrap_or(AUTOMATIC_MINIMUM);
                same(finding, minimum, idle.unwrap_or(assumed_kept(retention.min_seconds)))
            }
            Breakpoints::None => same(CacheLookup::Nothing, minimum, 0),
        }
    }

    /// Whether the client's breakpoints have an effect.
    #[must_use]
    pub fn takes_marks(&self) -> bool {
        matches!(self.finding, CacheLookup::AtMarks { .. } | CacheLookup::AtMarksAndTheEnd { .. })
    }

    pub(crate) fn cache_seconds(&self, ttl: CacheTtl) -> u64 {
        match ttl {
            CacheTtl::FiveMinutes => self.kept,
            CacheTtl::OneHour => self.kept_for_an_hour,
        }
    }
}

/// The assumed retention: the documented lower limit, or the usual one if none is documented.
fn assumed_kept(min_seconds: u64) -> u64 {
    if min_seconds == 0 { AUTOMATIC_IDLE } else { min_seconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelCatalog;

    #[test]
    fn rules_come_from_the_model_table() {
        let catalog = ModelCatalog::builtin();
        let rules = |model: &str, idle| CacheModel::of(catalog.find(model).unwrap(), idle);
        let haiku = rules("anthropic/claude-haiku-4-5", Some(9));
        assert_eq!(haiku.finding, CacheLookup::AtMarks { look_back: 20 });
        // Anthropic's retention is what one pays for, so it cannot be overridden.
        assert_eq!((haiku.minimum, haiku.kept, haiku.kept_for_an_hour), (4_096, 300, 3_600));
        let older = rules("openai/gpt-4o", None);
        assert_eq!(older.finding, CacheLookup::LongestPrefix { step: 128, writes: false });
        assert_eq!((older.minimum, older.kept), (1_024, 300));
        assert_eq!(rules("openai/gpt-4o", Some(600)).kept, 600);
        let newer = rules("openai/gpt-5.6", None);
        assert_eq!(newer.finding, CacheLookup::AtMarksAndTheEnd { look_back: 80 });
        assert_eq!(newer.kept, 1_800);
        assert_eq!(rules("openai/gpt-4-turbo", None).finding, CacheLookup::Nothing);
        let deepseek = rules("deepseek/deepseek-v4-flash", None);
        assert_eq!((deepseek.finding, deepseek.kept), (CacheLookup::AtTheEnd, 300));
        assert!(!deepseek.takes_marks());
    }
}
