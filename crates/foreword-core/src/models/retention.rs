//! How long a provider keeps a cached prefix: a range, because few providers state one number.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cache_limits::{ASSUMED_MAX_RETENTION, AUTOMATIC_IDLE};
use super::{Breakpoints, ModelFacts};
use crate::price::CacheTtl;

/// How long a provider keeps a prefix after its last use, as far as its documentation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// It keeps a prefix at least this long, in seconds. Default: 0, no lower limit is known.
    #[serde(default)]
    pub min_seconds: u64,
    /// It deletes a prefix after this long, in seconds. Default: no upper limit is known.
    pub max_seconds: Option<u64>,
}

impl Retention {
    /// Whether the lower limit is at most the upper limit.
    pub(super) fn is_ordered(&self) -> bool {
        self.max_seconds.is_none_or(|max| self.min_seconds <= max)
    }
}

impl ModelFacts {
    /// How long the provider keeps a prefix that was written for `ttl`. With explicit breakpoints the breakpoint decides;
    /// everywhere else the data does.
    ///
    /// ```
    /// use foreword_core::models::{ModelCatalog, Retention};
    /// use foreword_core::price::CacheTtl;
    /// let catalog = ModelCatalog::builtin();
    /// let retention = |model| catalog.find(model).unwrap().retention(CacheTtl::OneHour);
    /// assert_eq!(retention("anthropic/claude-haiku-4-5"), Retention { min_seconds: 3_600, max_seconds: Some(3_600) });
    /// assert_eq!(retention("openai/gpt-4o"), Retention { min_seconds: 300, max_seconds: Some(86_400) });
    /// assert_eq!(retention("openai/gpt-5.6"), Retention { min_seconds: 1_800, max_seconds: None });
    /// ```
    #[must_use]
    pub fn retention(&self, ttl: CacheTtl) -> Retention {
        if self.breakpoints == Breakpoints::Explicit {
            return Retention { min_seconds: ttl.seconds(), max_seconds: Some(ttl.seconds()) };
        }
        self.cache_retention.unwrap_or(Retention { min_seconds: AUTOMATIC_IDLE, max_seconds: None })
    }

    /// After how long without a request the cache counts as cold: when the provider has certainly deleted the prefix. Where
    /// no upper limit is known, the longest one that any provider documents is assumed.
    #[must_use]
    pub fn cold_after(&self, ttl: CacheTtl) -> Duration {
        let retention = self.retention(ttl);
        let assumed = || ASSUMED_MAX_RETENTION.max(retention.min_seconds);
        Duration::from_secs(retention.max_seconds.unwrap_or_else(assumed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelCatalog;

    #[test]
    fn cache_is_cold_only_after_the_whole_range() {
        let catalog = ModelCatalog::builtin();
        for (model, ttl, seconds) in [
            ("anthropic/claude-haiku-4-5", CacheTtl::FiveMinutes, 300),
            ("anthropic/claude-haiku-4-5", CacheTtl::OneHour, 3_600),
            ("openai/gpt-4o", CacheTtl::FiveMinutes, 86_400),
            ("openai/gpt-5.5", CacheTtl::FiveMinutes, 86_400),
            // No upper limit is documented.
            ("openai/gpt-5.6", CacheTtl::FiveMinutes, 86_400),
            ("deepseek/deepseek-v4-flash", CacheTtl::FiveMinutes, 86_400),
        ] {
            let facts = catalog.find(model).unwrap();
            assert_eq!(facts.cold_after(ttl), Duration::from_secs(seconds), "{model}");
        }
    }
}
