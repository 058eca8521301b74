//! How a provider's cache works, as data: what it finds, from which size on, for how long it keeps it. The
//! figures are those of `models::caching`; prices are in the table of models.

use crate::models::caching::{
    AUTOMATIC_IDLE, AUTOMATIC_MINIMUM, AUTOMATIC_STEP, LOOK_BACK, LOOK_BACK_OPENAI,
};
use crate::models::{Breakpoints, CacheMatch, ModelFacts};
use crate::price::CacheTtl;

/// What a cache finds of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// Only what was marked: the longest prefix that ends at a mark of an earlier request, at most `look_back` segments before
    /// a mark of this one.
    AtMarks {
        /// How many segments are looked at, the marked one included.
        look_back: usize,
    },
    /// The same, and the provider marks the end of each request itself.
    AtMarksAndTheEnd {
        /// How many segments are looked at, the marked one included.
        look_back: usize,
    },
    /// Only an earlier request as a whole: the provider marks the end of each request, and takes no other marks.
    AtTheEnd,
    /// The longest prefix it has seen, in whole steps.
    LongestPrefix {
        /// The step, in tokens.
        step: usize,
        /// Whether writing has a price of its own.
        writes: bool,
    },
    /// Nothing.
    Nothing,
}

/// How a provider's cache works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRules {
    /// What it finds.
    pub finding: Finding,
    /// The smallest prefix it keeps, in tokens.
    pub minimum: usize,
    /// How long it keeps what was asked to be kept for five minutes, or what it keeps by itself, in seconds since the last
    /// use.
    pub kept: u64,
    /// How long it keeps what was asked to be kept for an hour.
    pub kept_for_an_hour: u64,
}

impl CacheRules {
    /// The rules of the cache of a model of which `facts` are known. `idle` is how long a cache that decides by itself keeps
    /// what nobody uses, in seconds, if it is not to be what the provider says.
    #[must_use]
    pub fn of(facts: &ModelFacts, idle: Option<u64>) -> Self {
        let minimum = facts.min_cacheable.unwrap_or(0);
        let retention = facts.retention(CacheTtl::FiveMinutes);
        let same = |finding, minimum, kept| Self { finding, minimum, kept, kept_for_an_hour: kept };
        match facts.breakpoints {
            Breakpoints::Explicit => Self {
                finding: Finding::AtMarks { look_back: LOOK_BACK },
                minimum,
                kept: CacheTtl::FiveMinutes.seconds(),
                kept_for_an_hour: CacheTtl::OneHour.seconds(),
            },
            Breakpoints::Either => {
                let finding = Finding::AtMarksAndTheEnd { look_back: LOOK_BACK_OPENAI };
                same(finding, minimum, idle.unwrap_or(retention.min_seconds))
            }
            Breakpoints::Automatic => {
                let writes = facts.prices_at(0).is_some_and(|prices| prices.cache_write_5m.is_some());
                let step = facts.cache_step.unwrap_or(AUTOMATIC_STEP);
                let finding = match facts.cache_match {
                    CacheMatch::Units => Finding::AtTheEnd,
                    CacheMatch::Prefix => Finding::LongestPrefix { step, writes },
                };
                let minimum = facts.min_cacheable.unwrap_or(AUTOMATIC_MINIMUM);
                same(finding, minimum, idle.unwrap_or(assumed_kept(retention.min_seconds)))
            }
            Breakpoints::None => same(Finding::Nothing, minimum, 0),
        }
    }

    /// Whether a client's marks count.
    #[must_use]
    pub fn takes_marks(&self) -> bool {
        matches!(self.finding, Finding::AtMarks { .. } | Finding::AtMarksAndTheEnd { .. })
    }

    pub(crate) fn kept(&self, ttl: CacheTtl) -> u64 {
        match ttl {
            CacheTtl::FiveMinutes => self.kept,
            CacheTtl::OneHour => self.kept_for_an_hour,
        }
    }
}

/// How long a bill takes a prefix to be kept: the lower limit, and where none is known, the usual one.
fn assumed_kept(min_seconds: u64) -> u64 {
    if min_seconds == 0 { AUTOMATIC_IDLE } else { min_seconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelCatalog;

    #[test]
    fn the_rules_come_from_the_table_of_models() {
        let catalog = ModelCatalog::builtin();
        let rules = |model: &str, idle| CacheRules::of(catalog.find(model).unwrap(), idle);
        let haiku = rules("anthropic/claude-haiku-4-5", Some(9));
        assert_eq!(haiku.finding, Finding::AtMarks { look_back: 20 });
        // How long Anthropic keeps something is what one pays for, and no guess that could be set otherwise.
        assert_eq!((haiku.minimum, haiku.kept, haiku.kept_for_an_hour), (4_096, 300, 3_600));
        let older = rules("openai/gpt-4o", None);
        assert_eq!(older.finding, Finding::LongestPrefix { step: 128, writes: false });
        assert_eq!((older.minimum, older.kept), (1_024, 300));
        assert_eq!(rules("openai/gpt-4o", Some(600)).kept, 600);
        let newer = rules("openai/gpt-5.6", None);
        assert_eq!(newer.finding, Finding::AtMarksAndTheEnd { look_back: 80 });
        assert_eq!(newer.kept, 1_800);
        assert_eq!(rules("openai/gpt-4-turbo", None).finding, Finding::Nothing);
        let deepseek = rules("deepseek/deepseek-v4-flash", None);
        assert_eq!((deepseek.finding, deepseek.kept), (Finding::AtTheEnd, 300));
        assert!(!deepseek.takes_marks());
    }
}
