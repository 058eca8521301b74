//! How many requests there were in the last minute, near enough and in two numbers: those of this minute, and those of the
//! one before as far as it still counts. Knows no clock: the time is an argument.

use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// The requests of a minute that moves along.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rate {
    /// Which minute it is, since some beginning.
    minute: u64,
    /// The requests in it.
    now: u64,
    /// The requests in the one before.
    before: u64,
}

impl Rate {
    /// Counts a request at `at` if it is within `limit`; else says how long to wait.
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

    /// How long after `into` this minute there is room for one more.
    fn wait(&self, into: Duration, limit: u64) -> Duration {
        let Some(room) = limit.checked_sub(self.now + 1) else {
            // Not in this minute: in the next one, when enough of this one no longer counts.
            let room = limit.saturating_sub(1);
            return MINUTE.saturating_sub(into) + fades(self.now, room);
        };
        fades(self.before, room).saturating_sub(into)
    }
}

/// How far into a minute `count` requests of the one before have faded to `room`.
fn fades(count: u64, room: u64) -> Duration {
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
    fn as_many_as_are_allowed_at_once_and_the_next_when_there_is_room_again() {
        let mut rate = Rate::default();
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
    fn a_limit_of_nothing_lets_nothing_through() {
        let mut rate = Rate::default();
        assert_eq!(rate.count(seconds(1.0), 0), Err(seconds(59.0)));
    }

    proptest! {
        #[test]
        fn whoever_waits_as_told_is_let_through_and_never_twice_as_often_as_allowed(
            limit in 1_u64..50,
            pauses in proptest::collection::vec(0.0_f64..20.0, 1..300),
        ) {
            let (mut rate, mut at, mut let_through) = (Rate::default(), Duration::ZERO, Vec::new());
            for pause in pauses {
                at += seconds(pause);
                if let Err(wait) = rate.count(at, limit) {
                    // A moment more, for what the division has lost.
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
