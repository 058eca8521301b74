//! What is to be done about a schedule at a moment, and what a change of its configuration and the end of a firing do to
//! it. Reads no cron text: when the next firing is due comes in.

use std::time::Duration;

use crate::timestamp::Timestamp;
use crate::word::words;

/// A firing that is late by less than this was not missed.
pub const ON_TIME: Duration = Duration::from_secs(60);

words! {
    /// What becomes of firings that were missed: nobody was there, or the one before them was still under way.
    Missed = "way with missed firings" {
        /// One stands for all of them.
        RunOnce = "run_once",
        /// They are noted as skipped.
        Skip = "skip",
    }

    /// What came of a firing.
    FiringOutcome = "outcome of a firing" {
        /// It did what it was for.
        Done = "done",
        /// It did not.
        Failed = "failed",
        /// There was nothing to do, or it was too late.
        Skipped = "skipped",
    }
}

/// What is to be done about a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing before then; nothing at all, if that is never.
    Wait(Option<Timestamp>),
    /// Nothing before the firing that is under way has ended.
    Behind,
    /// The firing that was due then.
    Fire(Timestamp),
    /// Note that the one that was due then was missed.
    Skip(Timestamp),
    /// It is further ahead than it should be: a clock was wrong when that was written. It is due from then on.
    TooFarAhead(Timestamp),
}

/// What is to be done at `now` about a schedule that is said to fire at `stored`, and by its cron text fires at `next`
/// after `now`. `under_way` is whether a firing of it has not ended yet.
///
/// ```
/// use foreword_core::schedule::{Due, Missed, due};
/// use foreword_core::timestamp::Timestamp;
///
/// let minute = |minute: i64| Timestamp::from_micros(minute * 60_000_000);
/// let at = |now| due(now, (Some(minute(10)), Some(minute(20))), Missed::Skip, false);
/// assert_eq!(at(minute(9)), Due::Wait(Some(minute(10))));
/// assert_eq!(at(minute(10)), Due::Fire(minute(10)));
/// assert_eq!(at(minute(15)), Due::Skip(minute(10)));
/// ```
#[must_use]
pub fn due(
    now: Timestamp,
    (stored, next): (Option<Timestamp>, Option<Timestamp>),
    missed: Missed,
    under_way: bool,
) -> Due {
    match (stored, next) {
        (Some(stored), _) if stored <= now => match missed {
            _ if under_way => Due::Behind,
            Missed::Skip if now.since(stored) >= ON_TIME => Due::Skip(stored),
            _ => Due::Fire(stored),
        },
        (Some(stored), Some(next)) if next < stored => Due::TooFarAhead(next),
        (stored, _) => Due::Wait(stored),
    }
}

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

/// How a firing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It did what it was for; perhaps with something to say about it.
    Done {
        /// In one line.
        note: Option<String>,
    },
    /// It did not.
    Failed {
        /// Why.
        error: String,
    },
    /// There was nothing to do, or it was too late.
    Skipped {
        /// Why.
        note: String,
    },
}

impl Ended {
    /// In one word.
    #[must_use]
    pub fn outcome(&self) -> FiringOutcome {
        match self {
            Self::Done { .. } => FiringOutcome::Done,
            Self::Failed { .. } => FiringOutcome::Failed,
            Self::Skipped { .. } => FiringOutcome::Skipped,
        }
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Failed { error } => Some(error),
            Self::Done { .. } | Self::Skipped { .. } => None,
        }
    }

    /// What else there is to say about it.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        match self {
            Self::Done { note } => note.as_deref(),
            Self::Skipped { note } => Some(note),
            Self::Failed { .. } => None,
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
    /// The record, now that the firing that was due at `due_at` has ended. One that was due before the last that has
    /// ended changes nothing: what is known is newer. One that was skipped says nothing about failures.
    #[must_use]
    pub fn after(self, due_at: Timestamp, ended_at: Timestamp, end: &Ended) -> Self {
        if self.last_due_at.is_some_and(|last| last > due_at) {
            return self;
        }
        let (last_error, consecutive_failures) = match end {
            Ended::Done { .. } => (None, 0),
            Ended::Failed { error } => (Some(error.clone()), self.consecutive_failures + 1),
            Ended::Skipped { .. } => (self.last_error, self.consecutive_failures),
        };
        Self { last_due_at: Some(due_at), last_ended_at: Some(ended_at), last_error, consecutive_failures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn failed() -> Ended {
        Ended::Failed { error: "no answer".to_owned() }
    }

    fn done() -> Ended {
        Ended::Done { note: None }
    }

    #[test]
    fn failures_are_counted_until_one_succeeds_and_one_that_was_skipped_is_neither() {
        let twice = FiringRecord::default().after(at(10), at(11), &failed()).after(at(20), at(21), &failed());
        assert_eq!((twice.consecutive_failures, twice.last_error.as_deref()), (2, Some("no answer")));
        let skipped = twice.after(at(25), at(25), &Ended::Skipped { note: "too late".to_owned() });
        assert_eq!((skipped.consecutive_failures, skipped.last_due_at), (2, Some(at(25))));
        let well = skipped.after(at(30), at(31), &done());
        assert_eq!((well.consecutive_failures, &well.last_error, well.last_due_at), (0, &None, Some(at(30))));
        assert_eq!(well.after(at(40), at(41), &failed()).consecutive_failures, 1);
    }

    #[test]
    fn a_firing_that_ends_late_does_not_hide_a_newer_one() {
        let newer = FiringRecord::default().after(at(20), at(21), &done());
        assert_eq!(newer.clone().after(at(10), at(99), &failed()), newer);
    }

    #[test]
    fn what_is_due_fires_once_for_all_that_were_missed_or_is_skipped_and_never_runs_beside_itself() {
        let (once, skip) = (Missed::RunOnce, Missed::Skip);
        let table = [
            // now, stored, next after now, what becomes of missed ones, under way, what to do
            (99, Some(100), Some(100), once, false, Due::Wait(Some(at(100)))),
            (100, Some(100), Some(200), once, false, Due::Fire(at(100))),
            (159, Some(100), Some(200), skip, false, Due::Fire(at(100))),
            (160, Some(100), Some(200), skip, false, Due::Skip(at(100))),
            (9_999, Some(100), Some(10_000), once, false, Due::Fire(at(100))),
            (100, Some(100), Some(200), once, true, Due::Behind),
            (9_999, Some(100), Some(10_000), skip, true, Due::Behind),
            (99, Some(100), Some(100), once, true, Due::Wait(Some(at(100)))),
            // The clock was put back, or was wrong when this was written.
            (99, Some(86_400), Some(100), once, false, Due::TooFarAhead(at(100))),
            (99, None, None, once, false, Due::Wait(None)),
        ];
        for (now, stored, next, missed, under_way, expected) in table {
            let what = due(at(now), (stored.map(at), next.map(at)), missed, under_way);
            assert_eq!(what, expected, "at {now} with {stored:?} stored");
        }
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
