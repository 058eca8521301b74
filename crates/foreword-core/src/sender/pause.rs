//! When a message over which a turn has failed is tried again, and when nothing is tried at all. A message waits by itself,
//! so that the others are answered meanwhile; but if others fail as well it is the provider that is away, and then each
//! further try would be one more failing call.

use std::time::Duration;

use crate::timestamp::Timestamp;

/// How long is waited after a first failure; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// So many batches in a row say that it is not the messages: the second is the probe whether others can be answered.
const ALL_WAIT_AFTER: u64 = 2;

/// How long is waited after so many failures.
///
/// ```
/// use foreword_core::sender::pause_after;
/// let seconds: Vec<u64> = (0..=9).map(|failures| pause_after(failures).as_secs()).collect();
/// assert_eq!(seconds, [0, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
/// ```
#[must_use]
pub fn pause_after(failures: u64) -> Duration {
    let Some(doubled) = failures.checked_sub(1) else { return Duration::ZERO };
    let factor = u32::try_from(doubled).ok().and_then(|times| 2_u32.checked_pow(times));
    factor.map_or(LONGEST_PAUSE, |factor| FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE))
}

/// Until when a message is not tried again, if that is still to come: `tried_at` is when the last of so many `attempts`
/// failed. A moment further away than any pause is that of a clock that was set back since, and is not waited for.
///
/// ```
/// use foreword_core::sender::not_before;
/// use foreword_core::timestamp::Timestamp;
/// let now: Timestamp = "2026-11-16T12:00:10Z".parse().unwrap();
/// let until = |tried_at: &str| not_before((tried_at.parse().ok(), 3), now).map(|until| until.to_string());
/// assert_eq!(until("2026-11-16T12:00:05Z").as_deref(), Some("2026-11-16T12:00:13.000000Z"));
/// assert_eq!(until("2026-11-16T12:00:02Z"), None);
/// assert_eq!(until("2026-11-17T12:00:00Z"), None);
/// ```
#[must_use]
pub fn not_before((tried_at, attempts): (Option<Timestamp>, u64), now: Timestamp) -> Option<Timestamp> {
    let until = tried_at?.plus(pause_after(attempts));
    (until > now && until.since(now) <= LONGEST_PAUSE * 2).then_some(until)
}

/// Which of the messages that could be tried goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// The oldest.
    Oldest,
    /// The one that was tried the fewest times, and of those the oldest: whether anything can be answered is not found out
    /// by what has failed before.
    LeastTried,
}

/// The batches that have failed one after the other, whosever fault that was. Any that is answered ends it.
///
/// ```
/// use foreword_core::sender::{First, Streak};
/// let mut streak = Streak::default();
/// assert_eq!((streak.failed(), streak.first()), (None, First::LeastTried));
/// // Another one has failed as well: now everything waits, longer each time.
/// let waits: Vec<u64> = (0..3).filter_map(|_| streak.failed()).map(|pause| pause.as_secs()).collect();
/// assert_eq!(waits, [2, 4, 8]);
/// streak.ended();
/// assert_eq!((streak.first(), streak.failed()), (First::Oldest, None));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Streak(u64);

impl Streak {
    /// Notes that a batch has failed. Says how long everything waits now; `None` if others may be tried at once.
    pub fn failed(&mut self) -> Option<Duration> {
        self.0 = self.0.saturating_add(1);
        (self.0 >= ALL_WAIT_AFTER).then(|| pause_after(self.0 + 1 - ALL_WAIT_AFTER))
    }

    /// Notes that nothing could even be begun. Says how long everything waits now.
    pub fn nothing_begun(&mut self) -> Duration {
        self.failed().unwrap_or(FIRST_PAUSE)
    }

    /// Notes that a batch was answered, or that none waits.
    pub fn ended(&mut self) {
        self.0 = 0;
    }

    /// What is tried next.
    #[must_use]
    pub fn first(self) -> First {
        if self.0 == 0 { First::Oldest } else { First::LeastTried }
    }
}
