//! Decides what to do about a schedule at a given time, after a configuration change, and after a firing. Does not
//! parse cron expressions: the next occurrence is passed in.

use std::time::Duration;

use crate::string_enum::string_enum;
use crate::timestamp::Timestamp;

/// A firing that is late by less than this was not missed.
pub const MAX_LATENESS: Duration = Duration::from_secs(60);

string_enum! {
    /// What to do about missed firings: no node was running, or the previous firing had not ended.
    Missed = "policy for missed firings" {
        /// Fire once for all missed firings.
        RunOnce = "run_once",
        /// Record them as skipped.
        Skip = "skip",
    }

    /// The outcome of a firing.
    FiringOutcome = "firing outcome" {
        /// It succeeded.
        Done = "done",
        /// It failed.
        Failed = "failed",
        /// There was nothing to do, or it was too late.
        Skipped = "skipped",
    }
}

/// What to do about a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Wait until then; forever if `None`.
    Wait(Option<Timestamp>),
    /// Wait until the current firing has ended.
    Behind,
    /// Start the firing that was due then.
    Fire(Timestamp),
    /// Record the firing that was due then as skipped.
    Skip(Timestamp),
    /// The stored time is too far in the future, because it was written with a wrong clock. Use this time instead.
    TooFarAhead(Timestamp),
}

/// What to do at `now` about a schedule whose stored next firing is `stored` and whose cron expression next occurs at
/// `next`. `under_way` is whether a firing of it is running.
///
/// ```
/// use foreword_core::schedule::{Due, Missed, due};
/// use foreword_core::timestamp::Timestamp;
///
/// let minute = |minute: i64| Timestamp::from_micros(minute * 60_000_000);
/// let at = |now| due(now, Some(minute(10)), Some(minute(20)), Missed::Skip, false);
/// assert_eq!(at(minute(9)), Due::Wait(Some(minute(10))));
/// assert_eq!(at(minute(10)), Due::Fire(minute(10)));
/// assert_eq!(at(minute(15)), Due::Skip(minute(10)));
/// ```
#[must_use]
pub fn due(
    now: Timestamp,
    stored: Option<Timestamp>,
    next: Option<Timestamp>,
    missed: Missed,
    under_way: bool,
) -> Due {
    match (stored, next) {
        (Some(stored), _) if stored <= now => match missed {
            _ if under_way => Due::Behind,
            Missed::Skip if now.since(stored) >= MAX_LATENESS => Due::Skip(stored),
            _ => Due::Fire(stored),
        },
        (Some(stored), Some(next)) if next < stored => Due::TooFarAhead(next),
        (stored, _) => Due::Wait(stored),
    }
}

/// The configuration of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The cron expression.
    pub cron: String,
    /// The time zone of the expression.
    pub time_zone: String,
    /// Whether it is enabled.
    pub enabled: bool,
}

impl Timing {
    /// When the schedule fires next, after a configuration change. `before` is the previous configuration and its next
    /// firing; `computed` is the next occurrence of the cron expression. An unchanged schedule keeps its time, so that
    /// a firing missed while no node was running is still due.
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
pub enum FiringEnd {
    /// It succeeded.
    Done {
        /// A one-line note.
        note: Option<String>,
    },
    /// It failed.
    Failed {
        /// The error.
        error: String,
    },
    /// There was nothing to do, or it was too late.
    Skipped {
        /// The reason.
        note: String,
    },
}

impl FiringEnd {
    /// The outcome.
    #[must_use]
    pub fn outcome(&self) -> FiringOutcome {
        match self {
            Self::Done { .. } => FiringOutcome::Done,
            Self::Failed { .. } => FiringOutcome::Failed,
            Self::Skipped { .. } => FiringOutcome::Skipped,
        }
    }

    /// The error, if it failed.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Failed { error } => Some(error),
            Self::Done { .. } | Self::Skipped { .. } => None,
        }
    }

    /// The note, if any.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        match self {
            Self::Done { note } => note.as_deref(),
            Self::Skipped { note } => Some(note),
            Self::Failed { .. } => None,
        }
    }
}

/// The record of ended firings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FiringRecord {
    /// When the last one was due.
    pub last_due_at: Option<Timestamp>,
    /// When it ended.
    pub last_ended_at: Option<Timestamp>,
    /// Its error, if it failed.
    pub last_error: Option<String>,
    /// The number of failures since the last success.
    pub consecutive_failures: u64,
}

impl FiringRecord {
    /// The record after the firing that was due at `due_at` has ended. An older firing than the last recorded one
    /// changes nothing. A skipped one does not change the failures.
    #[must_use]
    pub fn after(self, due_at: Timestamp, ended_at: Timestamp, end: &FiringEnd) -> Self {
        if self.last_due_at.is_some_and(|last| last > due_at) {
            return self;
        }
        let (last_error, consecutive_failures) = match end {
            FiringEnd::Done { .. } => (None, 0),
            FiringEnd::Failed { error } => (Some(error.clone()), self.consecutive_failures + 1),
            FiringEnd::Skipped { .. } => (self.last_error, self.consecutive_failures),
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

    fn failed() -> FiringEnd {
        FiringEnd::Failed { error: "no answer".to_owned() }
    }

    fn done() -> FiringEnd {
        FiringEnd::Done { note: None }
    }

    #[test]
    fn skipped_firings_do_not_change_failures() {
        let twice = FiringRecord::default().after(at(10), at(11), &failed()).after(at(20), at(21), &failed());
        assert_eq!((twice.consecutive_failures, twice.last_error.as_deref()), (2, Some("no answer")));
        let skipped = twice.after(at(25), at(25), &FiringEnd::Skipped { note: "too late".to_owned() });
        assert_eq!((skipped.consecutive_failures, skipped.last_due_at), (2, Some(at(25))));
        let well = skipped.after(at(30), at(31), &done());
        assert_eq!((well.consecutive_failures, &well.last_error, well.last_due_at), (0, &None, Some(at(30))));
        assert_eq!(well.after(at(40), at(41), &failed()).consecutive_failures, 1);
    }

    #[test]
    fn older_firing_does_not_replace_a_newer_one() {
        let newer = FiringRecord::default().after(at(20), at(21), &done());
        assert_eq!(newer.clone().after(at(10), at(99), &failed()), newer);
    }

    #[test]
    fn missed_firings_run_once_or_are_skipped() {
        let (once, skip) = (Missed::RunOnce, Missed::Skip);
        let table = [
            // now, stored, next after now, policy, running, expected
            (99, Some(100), Some(100), once, false, Due::Wait(Some(at(100)))),
            (100, Some(100), Some(200), once, false, Due::Fire(at(100))),
            (159, Some(100), Some(200), skip, false, Due::Fire(at(100))),
            (160, Some(100), Some(200), skip, false, Due::Skip(at(100))),
            (9_999, Some(100), Some(10_000), once, false, Due::Fire(at(100))),
            (100, Some(100), Some(200), once, true, Due::Behind),
            (9_999, Some(100), Some(10_000), skip, true, Due::Behind),
            (99, Some(100), Some(100), once, true, Due::Wait(Some(at(100)))),
            // The clock was set back, or was wrong when this was written.
            (99, Some(86_400), Some(100), once, false, Due::TooFarAhead(at(100))),
            (99, None, None, once, false, Due::Wait(None)),
        ];
        for (now, stored, next, missed, under_way, expected) in table {
            let what = due(at(now), stored.map(at), next.map(at), missed, under_way);
            assert_eq!(what, expected, "at {now} with {stored:?} stored");
        }
    }

    #[test]
    fn unchanged_schedule_keeps_its_next_firing() {
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
