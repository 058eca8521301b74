//! A sliding-window rate limit: the requests of this minute, and a decreasing share of the previous one. The time is an
//! argument.

use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// The requests of the last minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SlidingWindow {
    minute: u64,
    now: u64,
    /// The requests of the previous minute.
    before: u64,
}

impl SlidingWindow {
    /// Counts a request if it is within `limit`, else returns how long to wait.
    pub(super) fn count(&mut self, at: Duration, limit: u64) -> Result<(), Duration> {
        self.move_to(at.as_secs() / MINUTE.as_secs());
        let into = at - MINUTE * u32::try_from(self.minute).unwrap_or(u32::MAX);
        let wait = self.wait(into, limit);
        if wait.is_zero() {
            self.now += 1;
            return Ok(());
        }
        Err(wait)
    }

    fn move_to(&mut self, minute: u64) {
        match minute.saturating_sub(self.minute) {
            0 => return,
            1 => self.before = self.now,
            _ => self.before = 0,
        }
        (self.minute, self.now) = (minute, 0);
    }

    /// How long to wait at the time `into` this minute.
    fn wait(&self, into: Duration, limit: u64) -> Duration {
        let Some(room) = limit.checked_sub(self.now + 1) else {
            // Not in this minute, but in the next, when this one has decayed enough.
            let room = limit.saturating_sub(1);
            return MINUTE.saturating_sub(into) + decay_time(self.now, room);
        };
        decay_time(self.before, room).saturating_sub(into)
    }
}

/// When `count` requests of the previous minute have decayed to `room`.
fn decay_time(count: u64, room: u64) -> Duration {
    match count {
        0 => Duration::ZERO,
        count if room >= count => Duration::ZERO,
        count => MINUTE.mul_f64((count - room) as f64 / count as f64),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn burst_is_allowed_then_limited() {
        let mut rate = SlidingWindow::default();
        for _ in 0..60 {
            assert_eq!(rate.count(seconds(30.0), 60), Ok(()));
        }
        let wait = rate.count(seconds(30.0), 60).unwrap_err();
        assert_eq!(wait, seconds(31.0));
        assert!(rate.count(seconds(30.0) + wait - seconds(0.1), 60).is_err());
        assert_eq!(rate.count(seconds(30.0) + wait, 60), Ok(()));
        assert!(rate.count(seconds(30.0) + wait, 60).is_err());
    }

    #[test]
    fn limit_of_zero_allows_nothing() {
        let mut rate = SlidingWindow::default();
        assert_eq!(rate.count(seconds(1.0), 0), Err(seconds(59.0)));
    }

    proptest! {
        #[test]
        fn waiting_the_stated_time_suffices_and_rate_is_bounded(
            limit in 1_u64..50,
            pauses in proptest::collection::vec(0.0_f64..20.0, 1..300),
        ) {
            let (mut rate, mut at, mut let_through) = (SlidingWindow::default(), Duration::ZERO, Vec::new());
            for pause in pauses {
                at += seconds(pause);
                if let Err(wait) = rate.count(at, limit) {
                    // For rounding errors.
                    at += wait + Duration::from_micros(1);
                    prop_assert_eq!(rate.count(at, limit), Ok(()));
                }
                let_through.push(at);
            }
            for start in &let_through {
                let within = let_through.iter().filter(|at| *at >= start && **at < *start + MINUTE).count();
                prop_assert!(within as u64 <= limit * 2, "{} in a minute, {} allowed", within, limit);
            }
        }
    }
}
