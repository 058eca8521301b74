//! Exponential backoff with jitter: the one implementation for every retry. The caller waits and counts the failures.

use std::time::Duration;

/// A delay that doubles with each consecutive failure, up to a maximum.
///
/// ```
/// use foreword_core::backoff::Backoff;
/// use std::time::Duration;
/// let backoff = Backoff { first: Duration::from_secs(2), max: Duration::from_secs(10) };
/// let seconds: Vec<u64> = (0..=5).map(|failures| backoff.delay(failures).as_secs()).collect();
/// assert_eq!(seconds, [0, 2, 4, 8, 10, 10]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub first: Duration,
    /// The maximum delay.
    pub max: Duration,
}

impl Backoff {
    /// The delay after this many consecutive failures; zero without one.
    #[must_use]
    pub fn delay(self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
        // After this many doublings a nanosecond reaches the maximum duration.
        const MAX_DOUBLINGS: u32 = 96;
        (0..doublings.min(MAX_DOUBLINGS)).fold(self.first, |delay, _| delay.saturating_mul(2)).min(self.max)
    }

    /// The delay with jitter, so that clients that failed together do not retry together: between half of it
    /// (`chance` 0) and all of it (`chance` 1).
    #[must_use]
    pub fn jittered_delay(self, failures: u32, chance: f64) -> Duration {
        let longest = self.delay(failures);
        let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 1.0 };
        // In halves, because a float cannot represent the longest duration.
        let half = longest / 2;
        half.saturating_add(half.mul_f64(chance)).min(longest)
    }
}
