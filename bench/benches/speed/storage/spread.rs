//! The distribution of times: percentiles.

use std::time::Duration;

/// Sorted times.
pub(crate) struct Spread(Vec<Duration>);

impl Spread {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub(crate) fn median(&self) -> Duration {
        self.permille(500)
    }

    /// The time at a permille.
    pub(crate) fn permille(&self, share: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get(last * share / 1_000).copied().unwrap_or_default()
    }

    pub(crate) fn longest(&self) -> Duration {
        self.permille(1_000)
    }

    /// The share of times up to `limit`.
    pub(crate) fn share_up_to(&self, limit: Duration) -> f64 {
        self.0.partition_point(|time| *time <= limit) as f64 / self.0.len().max(1) as f64
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}
