//! Parses start times: `1h`, `7d`, `today`, `yesterday`, a date or a time. The current time and zone are parameters.

use std::time::Duration;

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};

use crate::timestamp::Timestamp;

/// An invalid start time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a valid time: use 30m, 12h, 7d, today, yesterday, 2026-11-16 or 2026-11-16T02:47:00Z"
)]
pub struct BadSince {
    /// The given text.
    pub text: String,
}

/// The time that `text` means at `now`.
///
/// # Errors
/// If it is invalid.
///
/// ```
/// use foreword_core::since::since;
/// let now: jiff::Zoned = "2026-11-16T08:30:00+01:00[Europe/Berlin]".parse().unwrap();
/// assert_eq!(since("12h", &now).unwrap().to_string(), "2026-11-15T19:30:00.000000Z");
/// assert_eq!(since("today", &now).unwrap().to_string(), "2026-11-15T23:00:00.000000Z");
/// ```
pub fn since(text: &str, now: &Zoned) -> Result<Timestamp, BadSince> {
    let bad = || BadSince { text: text.escape_debug().take(60).collect() };
    let midnight = |date: Date| date.to_zoned(now.time_zone().clone()).map_err(|_| bad());
    let text = text.trim();
    match text {
        "now" => return Ok(now.timestamp().into()),
        "today" => return Ok(midnight(now.date())?.timestamp().into()),
        "yesterday" => {
            let date = now.date().checked_sub(1.day()).map_err(|_| bad())?;
            return Ok(midnight(date)?.timestamp().into());
        }
        _ => {}
    }
    if let Some(ago) = ago(text) {
        return Ok(Timestamp::from(now.timestamp()).minus(ago));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    Ok(midnight(text.parse().map_err(|_| bad())?)?.timestamp().into())
}

/// `90s`, `30m`, `12h`, `7d`, `2w`.
fn ago(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let now: Zoned = "2026-11-16T08:30:00+01:00[Europe/Berlin]".parse().unwrap();
        let found = since(text, &now).map(|at| at.to_string()).unwrap_or_else(|error| error.to_string());
        assert!(found.starts_with(expected), "{text}: {found}");
    }

    #[test]
    fn relative_and_absolute_times_are_parsed() {
        check("90s", "2026-11-16T07:28:30");
        check("30m", "2026-11-16T07:00:00");
        check("7d", "2026-11-09T07:30:00");
        check("2w", "2026-11-02T07:30:00");
        check("now", "2026-11-16T07:30:00");
        check("yesterday", "2026-11-14T23:00:00");
        check("2026-11-01", "2026-10-31T23:00:00");
        check("2026-11-16T02:47:00Z", "2026-11-16T02:47:00");
        check("2026-11-16T02:47:00+01:00", "2026-11-16T01:47:00");
    }

    #[test]
    fn invalid_times_are_rejected_with_examples() {
        for text in ["", "soon", "-1h", "1.5h", "h", "99999999999999999999d", "2026-13-01", "12x"] {
            check(text, &format!("`{text}` is not a valid time"));
        }
    }
}
