//! Timestamps as they are stored: UTC with microseconds, in a fixed-width format that sorts chronologically as text.
//! Reads no clock.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::serde_text::serde_as_text;

/// A point in time.
///
/// ```
/// use foreword_core::timestamp::Timestamp;
/// let at: Timestamp = "2026-11-16T02:47:00+01:00".parse().unwrap();
/// assert_eq!(at.to_string(), "2026-11-16T01:47:00.000000Z");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(jiff::Timestamp);

/// An invalid timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid time: write it as 2026-11-16T02:47:00Z")]
pub struct BadTimestamp {
    /// The given text.
    pub text: String,
}

impl Timestamp {
    /// The time this many microseconds after the Unix epoch, clamped to the valid range.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        let nearest = if micros < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        Self(jiff::Timestamp::from_microsecond(micros).unwrap_or(nearest))
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub fn as_micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// The time `duration` later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self::from_micros(self.as_micros().saturating_add(micros(duration)))
    }

    /// The time `duration` earlier.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self::from_micros(self.as_micros().saturating_sub(micros(duration)))
    }

    /// The time since `earlier`; zero if `earlier` is later.
    ///
    /// ```
    /// use foreword_core::timestamp::Timestamp;
    /// let (early, late) = (Timestamp::from_micros(1), Timestamp::from_micros(3));
    /// assert_eq!(late.since(early).as_micros(), 2);
    /// assert_eq!(early.since(late).as_micros(), 0);
    /// ```
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.as_micros() - earlier.as_micros()).unwrap_or(0))
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(at: jiff::Timestamp) -> Self {
        Self::from_micros(at.as_microsecond())
    }
}

impl From<Timestamp> for jiff::Timestamp {
    fn from(at: Timestamp) -> Self {
        at.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        let at: jiff::Timestamp = text.parse().map_err(|_| BadTimestamp { text: text.to_owned() })?;
        Ok(at.into())
    }
}

serde_as_text!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_sorts_like_time(a in 0..253_402_207_200_000_000_i64, b in 0..253_402_207_200_000_000_i64) {
            let (a, b) = (Timestamp::from_micros(a), Timestamp::from_micros(b));
            prop_assert_eq!(a.to_string().parse::<Timestamp>().unwrap(), a);
            prop_assert_eq!(a.to_string().len(), 27);
            prop_assert_eq!(a.to_string().cmp(&b.to_string()), a.cmp(&b));
        }
    }

    #[test]
    fn out_of_range_times_are_clamped() {
        let end = Timestamp::from_micros(i64::MAX);
        assert_eq!(end.plus(Duration::from_secs(1)), end);
        assert!(Timestamp::from_micros(i64::MIN) < Timestamp::from_micros(0));
    }
}
