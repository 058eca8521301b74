//! Cron expressions. Reads no clock: time and time zone are parameters.
//!
//! Daylight saving time: an expression with fixed hours fires once per day as usual, at the end of a skipped hour and
//! at the first occurrence of a repeated hour. An expression that fires every hour follows elapsed time: it does not
//! fire in a skipped hour and fires in both occurrences of a repeated hour.

use std::fmt;

use croner::Cron as Pattern;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use crate::timestamp::Timestamp;

/// The start of the search for a first occurrence. The following years contain a leap year for each weekday.
const SEARCH_START: DateTime = DateTime::constant(2001, 1, 1, 0, 0, 0, 0);
/// The number of years to search; every valid expression fires within them.
const SEARCH_YEARS: i16 = 60;
/// The maximum number of consecutive occurrences to skip; more than the minutes in a repeated hour.
const MAX_SKIPPED: usize = 10_000;

/// A cron expression.
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

/// Why a cron expression is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCron {
    /// It cannot be parsed.
    #[error("`{}` is not a valid cron expression: {reason}", .text.escape_debug())]
    Unreadable {
        /// The expression.
        text: String,
        /// The reason.
        reason: String,
    },
    /// It never fires.
    #[error("`{text}` never fires: there is no such day")]
    Never {
        /// The expression.
        text: String,
    },
    /// It fires more often than once a minute.
    #[error("`{text}` fires more often than once a minute")]
    TooOften {
        /// The expression.
        text: String,
    },
}

impl BadCron {
    /// How to fix it.
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
    /// Parses minute, hour, day, month and weekday; six fields start with a second; or an alias such as `@daily`.
    ///
    /// # Errors
    /// If the expression is invalid, never fires, or fires more often than once a minute.
    pub fn parse(text: &str) -> Result<Self, BadCron> {
        let trimmed = text.trim();
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let unreadable = |reason| BadCron::Unreadable { text: excerpt(text), reason };
        let pattern = parser.parse(trimmed).map_err(|error| unreadable(reason(&error)))?;
        if pattern.pattern.seconds.values().len() != 1 {
            return Err(BadCron::TooOften { text: excerpt(trimmed) });
        }
        let every_hour = pattern.pattern.hours.values().len() == 24;
        let cron = Self { text: trimmed.to_owned(), pattern, every_hour };
        let first = cron.civil_after(SEARCH_START, false);
        if first.is_none_or(|first| first.year() > SEARCH_START.year() + SEARCH_YEARS) {
            return Err(BadCron::Never { text: excerpt(trimmed) });
        }
        Ok(cron)
    }

    /// The expression as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A description such as `At 07:00, Monday through Friday.`
    #[must_use]
    pub fn in_words(&self) -> String {
        self.pattern.describe()
    }

    /// The first occurrence after `after` in `zone`. `None` only at the end of the supported range.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let after = jiff::Timestamp::from(after);
        let next =
            if self.every_hour { self.next_elapsed(after, zone) } else { self.next_wall_clock(after, zone) };
        next.map(Timestamp::from)
    }

    /// The next occurrence by wall clock time; each local time counts once.
    fn next_wall_clock(&self, after: jiff::Timestamp, zone: &TimeZone) -> Option<jiff::Timestamp> {
        let mut shown = zone.to_datetime(after);
        for _ in 0..MAX_SKIPPED {
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

    /// The next occurrence by elapsed time, with a constant offset between two changes of the zone.
    fn next_elapsed(&self, after: jiff::Timestamp, zone: &TimeZone) -> Option<jiff::Timestamp> {
        let (mut from, mut inclusive) = (after, false);
        for _ in 0..MAX_SKIPPED {
            let offset: Offset = zone.to_offset(from);
            let at = offset.to_timestamp(self.civil_after(offset.to_datetime(from), inclusive)?).ok()?;
            match zone.following(from).next().map(|change| change.timestamp()) {
                Some(change) if at >= change => (from, inclusive) = (change, true),
                _ => return Some(at),
            }
        }
        None
    }

    /// The next occurrence in civil time, without a time zone.
    fn civil_after(&self, shown: DateTime, inclusive: bool) -> Option<DateTime> {
        // Occurrences are on whole seconds; a fraction means that the second has passed.
        let whole = shown.subsec_nanosecond() == 0;
        self.pattern.find_next_occurrence(&shown, inclusive && whole).ok()
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The last change of the zone before `later`.
fn end_of_gap(later: jiff::Timestamp, zone: &TimeZone) -> Option<jiff::Timestamp> {
    let just_after = later.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
    zone.preceding(just_after).next().map(|change| change.timestamp())
}

/// The text, escaped and cut to 60 characters.
fn excerpt(text: &str) -> String {
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
