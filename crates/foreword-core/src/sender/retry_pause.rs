//! When a failed message is retried, and when all messages pause. A failed message waits alone while others are
//! answered. If other messages fail too, the provider is likely unavailable, and all messages pause.

use std::time::Duration;

use crate::backoff::Backoff;
use crate::timestamp::Timestamp;

const BACKOFF: Backoff = Backoff { first: Duration::from_secs(2), max: Duration::from_secs(300) };
/// After this many consecutive failed batches all messages pause; the second batch probes whether others can be
/// answered.
const BATCHES_BEFORE_PAUSE: u64 = 2;

/// The pause after this many failures.
///
/// ```
/// use foreword_core::sender::pause_after;
/// let seconds: Vec<u64> = (0..=9).map(|failures| pause_after(failures).as_secs()).collect();
/// assert_eq!(seconds, [0, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
/// ```
#[must_use]
pub fn pause_after(failures: u64) -> Duration {
    BACKOFF.delay(u32::try_from(failures).unwrap_or(u32::MAX))
}

/// Until when a message must not be retried; `None` if it may be. `tried_at` is when the last of `attempts` failed. A
/// time further away than any pause comes from a clock that was set back, and is ignored.
///
/// ```
/// use foreword_core::sender::not_before;
/// use foreword_core::timestamp::Timestamp;
/// let now: Timestamp = "2026-11-16T12:00:10Z".parse().unwrap();
/// let until = |tried_at: &str| not_before(tried_at.parse().ok(), 3, now).map(|until| until.to_string());
/// assert_eq!(until("2026-11-16T12:00:05Z").as_deref(), Some("2026-11-16T12:00:13.000000Z"));
/// assert_eq!(until("2026-11-16T12:00:02Z"), None);
/// assert_eq!(until("2026-11-17T12:00:00Z"), None);
/// ```
#[must_use]
pub fn not_before(tried_at: Option<Timestamp>, attempts: u64, now: Timestamp) -> Option<Timestamp> {
    let until = tried_at?.plus(pause_after(attempts));
    (until > now && until.since(now) <= BACKOFF.max * 2).then_some(until)
}

/// Which of the messages that may be tried comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOrder {
    /// The oldest.
    Oldest,
    /// The one with the fewest attempts, then the oldest: previously failed messages are a poor probe.
    LeastTried,
}

/// The number of consecutive failed batches, whatever the source of the failure. An answered batch resets it.
///
/// ```
/// use foreword_core::sender::{BatchOrder, FailureStreak};
/// let mut streak = FailureStreak::default();
/// assert_eq!((streak.failed(), streak.first()), (None, BatchOrder::LeastTried));
/// // Another batch has failed: now everything waits, longer each time.
/// let waits: Vec<u64> = (0..3).filter_map(|_| streak.failed()).map(|pause| pause.as_secs()).collect();
/// assert_eq!(waits, [2, 4, 8]);
/// streak.ended();
/// assert_eq!((streak.first(), streak.failed()), (BatchOrder::Oldest, None));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailureStreak(u64);

impl FailureStreak {
    /// Records a failed batch. Returns how long all messages pause; `None` if others may be tried at once.
    pub fn failed(&mut self) -> Option<Duration> {
        self.0 = self.0.saturating_add(1);
        (self.0 >= BATCHES_BEFORE_PAUSE).then(|| pause_after(self.0 + 1 - BATCHES_BEFORE_PAUSE))
    }

    /// Records that no turn could be started. Returns how long all messages pause.
    pub fn start_failed(&mut self) -> Duration {
        self.failed().unwrap_or(BACKOFF.first)
    }

    /// Records that a batch was answered, or that none waits.
    pub fn ended(&mut self) {
        self.0 = 0;
    }

    /// The order of the next batch.
    #[must_use]
    pub fn first(self) -> BatchOrder {
        if self.0 == 0 { BatchOrder::Oldest } else { BatchOrder::LeastTried }
    }
}
