//! Whether somebody who said "this is mine for a while" still has it. A rule over times that come in; reads no clock and
//! trusts none: a clock can jump. Whoever is wrongly thought dead is stopped by the fence, not by this.

use std::time::Duration;

use crate::timestamp::Timestamp;

/// A claim that lapses unless it is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When its holder last said that it lives.
    pub renewed_at: Timestamp,
    /// How long that holds.
    pub duration: Duration,
}

/// What somebody who wants a lease finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its holder lives, as far as anybody can tell.
    Held,
    /// Its holder has not been heard of for too long.
    Free,
    /// It was renewed at a time that is far from having come: the clock has jumped back. Whether its holder lives can't
    /// be told yet. It counts as held, and its renewal is written anew as of now: a holder that lives renews it, and
    /// one that is dead loses it one duration later.
    Redate,
}

impl Lease {
    /// What the lease is worth at `now`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use foreword_core::lease::{Lease, Standing};
    /// use foreword_core::timestamp::Timestamp;
    ///
    /// let renewed_at: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
    /// let lease = Lease { renewed_at, duration: Duration::from_secs(30) };
    /// assert_eq!(lease.standing(renewed_at.plus(Duration::from_secs(29))), Standing::Held);
    /// assert_eq!(lease.standing(renewed_at.plus(Duration::from_secs(30))), Standing::Free);
    /// ```
    #[must_use]
    pub fn standing(self, now: Timestamp) -> Standing {
        if now >= self.renewed_at && now.since(self.renewed_at) >= self.duration {
            Standing::Free
        } else if self.renewed_at.since(now) > self.duration {
            Standing::Redate
        } else {
            Standing::Held
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LASTS: Duration = Duration::from_secs(30);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000 + second * 1_000_000)
    }

    #[test]
    fn a_lease_is_held_for_its_duration_whatever_the_clock_does() {
        let table = [
            // seconds from the renewal to now, what is found
            (0, Standing::Held),
            (29, Standing::Held),
            (30, Standing::Free),
            (3_600, Standing::Free),
            // Two callers whose times crossed on the way, or a clock that was set right by a little.
            (-1, Standing::Held),
            (-30, Standing::Held),
            // A clock that jumped back.
            (-31, Standing::Redate),
            (-7_200, Standing::Redate),
        ];
        for (second, expected) in table {
            let lease = Lease { renewed_at: at(0), duration: LASTS };
            assert_eq!(lease.standing(at(second)), expected, "{second} s");
        }
    }

    #[test]
    fn a_lease_of_no_duration_is_free_at_once() {
        let lease = Lease { renewed_at: at(0), duration: Duration::ZERO };
        assert_eq!(lease.standing(at(0)), Standing::Free);
    }

    /// Looks every second, as those who wait do, and says how long it took until the lease was free.
    fn seconds_until_free(mut lease: Lease, mut now: i64, holder_renews: bool) -> Option<i64> {
        let begun = now;
        while now < begun + 200 {
            // A living holder renews three times in a duration.
            if holder_renews && (now - begun) % 10 == 9 {
                lease.renewed_at = at(now);
            }
            match lease.standing(at(now)) {
                Standing::Free => return Some(now - begun),
                Standing::Redate => lease.renewed_at = at(now),
                Standing::Held => {}
            }
            now += 1;
        }
        None
    }

    proptest! {
        #[test]
        fn a_clock_that_jumps_back_neither_frees_a_living_holders_lease_nor_keeps_a_dead_ones(
            jump in 0..1_000_000_i64,
        ) {
            let lease = Lease { renewed_at: at(0), duration: LASTS };
            prop_assert_eq!(seconds_until_free(lease, -jump, true), None);
            let freed = seconds_until_free(lease, -jump, false);
            prop_assert!(freed.is_some_and(|seconds| (30..=60).contains(&seconds)), "{:?}", freed);
        }
    }
}
