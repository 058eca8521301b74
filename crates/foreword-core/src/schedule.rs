//! What a change of its configuration, and the end of a firing, do to a schedule. Reads no cron text: when the next
//! firing is due comes in.

use crate::timestamp::Timestamp;

/// What a configuration says about a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// When it fires, as a cron text.
    pub cron: String,
    /// The time zone that text is read in.
    pub time_zone: String,
    /// Whether it fires at all.
    pub enabled: bool,
}

impl Timing {
    /// When the schedule fires next, now that it is configured like this. `before` is how it was configured and when
    /// that would have fired, and `computed` what follows from its cron text now. One that has not changed keeps its
    /// time: a firing that was missed while no node was there is still due.
    ///
    /// ```
    /// use foreword_core::schedule::Timing;
    /// use foreword_core::timestamp::Timestamp;
    ///
    /// let nightly = Timing { cron: "0 3 * * *".into(), time_zone: "UTC".into(), enabled: true };
    /// let (missed, next) = (Timestamp::from_micros(1), Timestamp::from_micros(2));
    /// assert_eq!(nightly.next_fire(Some((&nightly, Some(missed))), Some(next)), Some(missed));
    /// assert_eq!(nightly.next_fire(None, Some(next)), Some(next));
    /// ```
    #[must_use]
    pub fn next_fire(
        &self,
        before: Option<(&Self, Option<Timestamp>)>,
        computed: Option<Timestamp>,
    ) -> Option<Timestamp> {
        match before {
            _ if !self.enabled => None,
            Some((timing, stored)) if timing == self => stored.or(computed),
            _ => computed,
        }
    }
}

/// What is known of the firings that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FiringRecord {
    /// When the last one was due.
    pub last_due_at: Option<Timestamp>,
    /// When it ended.
    pub last_ended_at: Option<Timestamp>,
    /// Why it failed, if it did.
    pub last_error: Option<String>,
    /// How many have failed since one succeeded.
    pub consecutive_failures: u64,
}

impl FiringRecord {
    /// The record, now that the firing that was due at `due_at` has ended, with an error or without. One that was due
    /// before the last that has ended changes nothing: what is known is newer.
    #[must_use]
    pub fn after(self, due_at: Timestamp, ended_at: Timestamp, error: Option<String>) -> Self {
        if self.last_due_at.is_some_and(|last| last > due_at) {
            return self;
        }
        let consecutive_failures = if error.is_some() { self.consecutive_failures + 1 } else { 0 };
        Self {
            last_due_at: Some(due_at),
            last_ended_at: Some(ended_at),
            last_error: error,
            consecutive_failures,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    #[test]
    fn failures_are_counted_until_one_succeeds() {
        let failed = |record: FiringRecord, second| {
            record.after(at(second), at(second + 1), Some("no answer".to_owned()))
        };
        let twice = failed(failed(FiringRecord::default(), 10), 20);
        assert_eq!(twice.consecutive_failures, 2);
        assert_eq!(twice.last_error.as_deref(), Some("no answer"));
        let well = twice.after(at(30), at(31), None);
        assert_eq!((well.consecutive_failures, &well.last_error, well.last_due_at), (0, &None, Some(at(30))));
        assert_eq!(failed(well, 40).consecutive_failures, 1);
    }

    #[test]
    fn a_firing_that_ends_late_does_not_hide_a_newer_one() {
        let newer = FiringRecord::default().after(at(20), at(21), None);
        assert_eq!(newer.clone().after(at(10), at(99), Some("late".to_owned())), newer);
    }

    #[test]
    fn a_schedule_keeps_its_next_firing_unless_it_has_changed() {
        let timing = |cron: &str, enabled| Timing {
            cron: cron.to_owned(),
            time_zone: "Europe/Berlin".to_owned(),
            enabled,
        };
        let (hourly, daily, off) =
            (timing("0 * * * *", true), timing("0 3 * * *", true), timing("0 * * * *", false));
        let (stored, computed) = (Some(at(1)), Some(at(2)));
        let table = [
            (&hourly, None, computed),
            (&hourly, Some((&hourly, stored)), stored),
            (&hourly, Some((&hourly, None)), computed),
            (&hourly, Some((&daily, stored)), computed),
            (&hourly, Some((&off, None)), computed),
            (&off, Some((&hourly, stored)), None),
            (&off, None, None),
        ];
        for (timing, before, expected) in table {
            assert_eq!(timing.next_fire(before, computed), expected, "{timing:?} after {before:?}");
        }
    }
}
