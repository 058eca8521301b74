//! Cron texts: when something that runs by the clock is due. Reads no clock: the time and the time zone come in.
//!
//! A clock that is put forward leaves out an hour, one that is put back has it twice. What is due at certain hours
//! happens once on such a day as on any other: at the end of an hour that is left out, and the first time in one that
//! comes twice. What is due every hour follows the time that passes: nothing in an hour that is left out, and all of it
//! in both that come twice.

use std::fmt;

use croner::Cron as Pattern;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use crate::timestamp::Timestamp;

/// From here on it is looked whether a text fires at all: after this day there is a leap year for each day of the week
/// within the years that are searched.
const FIRST: DateTime = DateTime::constant(2001, 1, 1, 0, 0, 0, 0);
/// How many years ahead anything that fires at all does.
const YEARS: i16 = 60;
/// The most times in a row that are passed over: as many as there are minutes in an hour that comes twice, and more.
const PASSED_OVER: usize = 10_000;

/// When something is due.
///
/// ```
/// use foreword_core::cron::Cron;
/// use jiff::tz::TimeZone;
///
/// let mornings = Cron::parse("0 7 * * mon-fri").unwrap();
/// let friday_noon = "2026-11-13T12:00:00Z".parse().unwrap();
/// let next = mornings.next_after(friday_noon, &TimeZone::UTC).unwrap();
/// assert_eq!(next.to_string(), "2026-11-16T07:00:00.000000Z");
/// assert!(Cron::parse("0 0 30 2 *").unwrap_err().to_string().contains("never"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    pattern: Pattern,
    every_hour: bool,
}

/// Why a text is no cron text that anything can run by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCron {
    /// It is none.
    #[error("`{}` is no cron text: {reason}", .text.escape_debug())]
    Unreadable {
        /// What was given.
        text: String,
        /// Why.
        reason: String,
    },
    /// There is no such day.
    #[error("`{text}` never fires: there is no such day")]
    Never {
        /// What was given.
        text: String,
    },
    /// It fires more often than once a minute.
    #[error("`{text}` fires more often than once a minute")]
    TooOften {
        /// What was given.
        text: String,
    },
}

impl BadCron {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => {
                "write `minute hour day month weekday`, such as `0 7 * * mon-fri`, or `@hourly`, `@daily`, `@weekly`"
            }
            Self::Never { .. } => {
                "choose a day that every year or some years have; `L` is the last of a month"
            }
            Self::TooOften { .. } => "leave the seconds out: `*/5 * * * *` is every five minutes",
        }
    }
}

impl Cron {
    /// The cron text `text`: minute, hour, day, month and weekday; with a second before them, if there are six; or a
    /// word such as `@daily`.
    ///
    /// # Errors
    /// If it is none, never fires, or fires more often than once a minute.
    pub fn parse(text: &str) -> Result<Self, BadCron> {
        let trimmed = text.trim();
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let unreadable = |reason| BadCron::Unreadable { text: shown(text), reason };
        let pattern = parser.parse(trimmed).map_err(|error| unreadable(reason(&error)))?;
        if pattern.pattern.seconds.values().len() != 1 {
            return Err(BadCron::TooOften { text: shown(trimmed) });
        }
        let every_hour = pattern.pattern.hours.values().len() == 24;
        let cron = Self { text: trimmed.to_owned(), pattern, every_hour };
        let first = cron.civil_after(FIRST, false);
        if first.is_none_or(|first| first.year() > FIRST.year() + YEARS) {
            return Err(BadCron::Never { text: shown(trimmed) });
        }
        Ok(cron)
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// In words, such as `At 07:00, Monday through Friday.`
    #[must_use]
    pub fn in_words(&self) -> String {
        self.pattern.describe()
    }

    /// The first time after `after` that it is due in `zone`. `None` only at the end of all times.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let after = jiff::Timestamp::from(after);
        let next = if self.every_hour { self.elapsing(after, zone) } else { self.by_the_wall(after, zone) };
        next.map(Timestamp::from)
    }

    /// By the clock on the wall: each time it shows counts once.
    fn by_the_wall(&self, after: jiff::Timestamp, zone: &TimeZone) -> Option<jiff::Timestamp> {
        let mut shown = zone.to_datetime(after);
        for _ in 0..PASSED_OVER {
            shown = self.civil_after(shown, false)?;
            let ambiguous = zone.to_ambiguous_timestamp(shown);
            let at = match ambiguous.offset() {
                AmbiguousOffset::Gap { .. } => end_of_gap(ambiguous.later().ok()?, zone)?,
                _ => ambiguous.earlier().ok()?,
            };
            if at > after {
                return Some(at);
            }
        }
        None
    }

    /// By the time that passes: as if the clock were never put forward or back between two changes.
    fn elapsing(&self, after: jiff::Timestamp, zone: &TimeZone) -> Option<jiff::Timestamp> {
        let (mut from, mut inclusive) = (after, false);
        for _ in 0..PASSED_OVER {
            let offset: Offset = zone.to_offset(from);
            let at = offset.to_timestamp(self.civil_after(offset.to_datetime(from), inclusive)?).ok()?;
            match zone.following(from).next().map(|change| change.timestamp()) {
                Some(change) if at >= change => (from, inclusive) = (change, true),
                _ => return Some(at),
            }
        }
        None
    }

    /// The next time a clock shows it that is never put forward or back.
    fn civil_after(&self, shown: DateTime, inclusive: bool) -> Option<DateTime> {
        // What is looked for has no parts of seconds; one of them still to pass means that its second is over.
        let whole = shown.subsec_nanosecond() == 0;
        self.pattern.find_next_occurrence(&shown, inclusive && whole).ok()
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// When the clock was put forward, last before `later`.
fn end_of_gap(later: jiff::Timestamp, zone: &TimeZone) -> Option<jiff::Timestamp> {
    let just_after = later.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
    zone.preceding(just_after).next().map(|change| change.timestamp())
}

/// At most a line's worth of a text that may be anything.
fn shown(text: &str) -> String {
    text.escape_debug().take(60).collect()
}

fn reason(error: &CronError) -> String {
    let words = match error {
        CronError::EmptyPattern => return "it is empty".to_owned(),
        CronError::InvalidPattern(words) if words.contains("fields") => {
            return "it needs 5 fields, or 6 with seconds".to_owned();
        }
        CronError::InvalidPattern(words)
        | CronError::IllegalCharacters(words)
        | CronError::ComponentError(words) => words.trim_end_matches('.'),
        CronError::InvalidDate | CronError::InvalidTime | CronError::TimeSearchLimitExceeded => {
            return "there is no such time".to_owned();
        }
    };
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
