//! Decides whether a lease is held, from times that are passed in. Clocks can jump, so the result may be wrong; fencing
//! stops a holder that lost its lease.

use std::time::Duration;

use crate::timestamp::Timestamp;

/// A claim that expires unless it is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When its holder last renewed it.
    pub renewed_at: Timestamp,
    /// How long a renewal is valid.
    pub duration: Duration,
}

/// The state of a lease, for a process that wants to acquire it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The holder is alive as far as known.
    Held,
    /// The lease has expired.
    Free,
    /// The last renewal is in the future: the clock has jumped back, so the holder's state is unknown. The lease counts
    /// as held, and its renewal time is set to now: a live holder renews it, and a dead one loses it after one
    /// duration.
    ResetRenewal,
}

impl Lease {
    /// The state of the lease at `now`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use foreword_core::lease::{Lease, LeaseState};
    /// use foreword_core::timestamp::Timestamp;
    ///
    /// let renewed_at: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
    /// let lease = Lease { renewed_at, duration: Duration::from_secs(30) };
    /// assert_eq!(lease.state(renewed_at.plus(Duration::from_secs(29))), LeaseState::Held);
    /// assert_eq!(lease.state(renewed_at.plus(Duration::from_secs(30))), LeaseState::Free);
    /// ```
    #[must_use]
    pub fn state(self, now: Timestamp) -> LeaseState {
        if now >= self.renewed_at && now.since(self.renewed_at) >= self.duration {
            LeaseState::Free
        } else if self.renewed_at.since(now) > self.duration {
            LeaseState::ResetRenewal
        } else {
            LeaseState::Held
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
    fn lease_is_held_for_its_duration() {
        let table = [
            // seconds from the renewal to now, expected state
            (0, LeaseState::Held),
            (29, LeaseState::Held),
            (30, LeaseState::Free),
            (3_600, LeaseState::Free),
            // Two requests that crossed, or a small clock correction.
            (-1, LeaseState::Held),
            (-30, LeaseState::Held),
            // The clock jumped back.
            (-31, LeaseState::ResetRenewal),
            (-7_200, LeaseState::ResetRenewal),
        ];
        for (second, expected) in table {
            let lease = Lease { renewed_at: at(0), duration: LASTS };
            assert_eq!(lease.state(at(second)), expected, "{second} s");
        }
    }

    #[test]
    fn zero_duration_lease_is_free_immediately() {
        let lease = Lease { renewed_at: at(0), duration: Duration::ZERO };
        assert_eq!(lease.state(at(0)), LeaseState::Free);
    }

    /// Polls every second and returns how long it took until the lease was free.
    fn seconds_until_free(mut lease: Lease, mut now: i64, holder_renews: bool) -> Option<i64> {
        let begun = now;
        while now < begun + 200 {
            // A live holder renews three times per duration.
            if holder_renews && (now - begun) % 10 == 9 {
                lease.renewed_at = at(now);
            }
            match lease.state(at(now)) {
                LeaseState::Free => return Some(now - begun),
                LeaseState::ResetRenewal => lease.renewed_at = at(now),
                LeaseState::Held => {}
            }
            now += 1;
        }
        None
    }

    proptest! {
        #[test]
        fn backward_clock_jump_frees_only_dead_holders_leases(
            jump in 0..1_000_000_i64,
        ) {
            let lease = Lease { renewed_at: at(0), duration: LASTS };
            prop_assert_eq!(seconds_until_free(lease, -jump, true), None);
            let freed = seconds_until_free(lease, -jump, false);
            prop_assert!(freed.is_some_and(|seconds| (30..=60).contains(&seconds)), "{:?}", freed);
        }
    }
}
