//! Sums of the cost of model calls.

use std::ops::Add;

use serde::Serialize;

use crate::money::Money;

/// The sum of a set of model calls, including failed calls that were charged.
///
/// ```
/// use foreword_core::cost_sum::CostSum;
/// let sum = CostSum { calls: 3, turns: 2, usd: 0.5, ..CostSum::default() };
/// assert_eq!(sum.usd_per_turn(), Some(0.25));
/// assert_eq!(sum.cache_share(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct CostSum {
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub failed: u64,
    /// The number of turns.
    pub turns: u64,
    /// All input tokens.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
    /// Input tokens of calls with reported cache usage.
    pub tokens_with_cache_usage: u64,
    /// The cost in US dollars, as far as prices are known.
    pub usd: f64,
    /// The number of calls of unknown price.
    pub unpriced: u64,
}

impl CostSum {
    /// Whether it contains no calls.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls == 0
    }

    /// The cost, as far as it is known.
    #[must_use]
    pub fn cost(&self) -> Money {
        Money::from_dollars(self.usd)
    }

    /// Input and output tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }

    /// The average cost per turn; `None` without a turn, or if no price is known.
    #[must_use]
    pub fn usd_per_turn(&self) -> Option<f64> {
        (self.turns > 0 && self.unpriced < self.calls).then(|| self.usd / self.turns as f64)
    }

    /// The share of input tokens read from the provider's cache, from 0 to 1. `None` if no provider reported cache
    /// usage.
    ///
    /// ```
    /// use foreword_core::cost_sum::CostSum;
    /// let sum = CostSum { tokens_in: 3_000, tokens_with_cache_usage: 2_000, cache_read: 500, ..CostSum::default() };
    /// assert_eq!(sum.cache_share(), Some(0.25));
    /// ```
    #[must_use]
    pub fn cache_share(&self) -> Option<f64> {
        (self.tokens_with_cache_usage > 0)
            .then(|| (self.cache_read as f64 / self.tokens_with_cache_usage as f64).min(1.0))
    }
}

impl Add for CostSum {
    type Output = Self;

    /// Adds sums over different turns: a turn that is in both is counted twice.
    fn add(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            failed: self.failed.saturating_add(other.failed),
            turns: self.turns.saturating_add(other.turns),
            tokens_in: self.tokens_in.saturating_add(other.tokens_in),
            tokens_out: self.tokens_out.saturating_add(other.tokens_out),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            tokens_with_cache_usage: self
                .tokens_with_cache_usage
                .saturating_add(other.tokens_with_cache_usage),
            usd: self.usd + other.usd,
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_share_ignores_unreported_calls_and_weights_by_tokens() {
        let none = CostSum { calls: 2, tokens_in: 900, ..CostSum::default() };
        let large = CostSum {
            calls: 1,
            tokens_in: 9_000,
            tokens_with_cache_usage: 9_000,
            cache_read: 9_000,
            ..CostSum::default()
        };
        let small =
            CostSum { calls: 1, tokens_in: 1_000, tokens_with_cache_usage: 1_000, ..CostSum::default() };
        assert_eq!(none.cache_share(), None);
        assert_eq!(small.cache_share(), Some(0.0));
        assert_eq!((large + small).cache_share(), Some(0.9));
        assert_eq!((large + small + none).cache_share(), Some(0.9));
    }

    #[test]
    fn average_requires_a_turn_and_a_price() {
        let unpriced = CostSum { calls: 2, unpriced: 2, turns: 1, ..CostSum::default() };
        assert_eq!(unpriced.usd_per_turn(), None);
        assert_eq!(CostSum { calls: 2, usd: 1.0, ..CostSum::default() }.usd_per_turn(), None);
        let free = CostSum { calls: 2, turns: 2, ..CostSum::default() };
        assert_eq!(free.usd_per_turn(), Some(0.0));
        assert_eq!(CostSum { calls: 3, unpriced: 1, turns: 2, usd: 1.0, ..free }.usd_per_turn(), Some(0.5));
    }
}
