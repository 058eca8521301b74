//! Parses the `retry-after` headers of a response. Reads no clock.

use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use jiff::civil;
use jiff::fmt::{rfc2822, strtime};
use jiff::tz::TimeZone;

/// The upper limit of a parsed delay, which prevents overflow.
const MAX_DELAY: Duration = Duration::from_secs(365 * 24 * 3600);

/// The delay from `retry-after-ms`, otherwise from `retry-after` in seconds or as a date. A date in the past is a delay
/// of zero. The caller limits the delay.
///
/// ```
/// use std::time::Duration;
/// use foreword_core::timestamp::Timestamp;
/// use foreword_providers::retry_after;
///
/// let now: Timestamp = "2026-11-16T02:47:00Z".parse().unwrap();
/// let date = |name: &str| (name == "retry-after").then_some("Mon, 16 Nov 2026 02:47:30 GMT");
/// assert_eq!(retry_after(date, now), Some(Duration::from_secs(30)));
/// ```
pub fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>, now: Timestamp) -> Option<Duration> {
    let milliseconds = header("retry-after-ms").and_then(|value| seconds(value, 1_000.0));
    milliseconds.or_else(|| {
        let value = header("retry-after")?;
        seconds(value, 1.0).or_else(|| Some(date(value)?.since(now)))
    })
}

fn seconds(value: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = value.trim().parse().ok()?;
    if number.is_nan() {
        return None;
    }
    Some(Duration::try_from_secs_f64((number / per_second).max(0.0)).unwrap_or(MAX_DELAY).min(MAX_DELAY))
}

/// The three HTTP date formats, of which two are obsolete.
fn date(value: &str) -> Option<Timestamp> {
    let value = value.trim();
    if let Ok(at) = rfc2822::parse(value) {
        return Some(at.timestamp().into());
    }
    let forms = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let at = forms.iter().find_map(|form| strtime::parse(form, value).ok()?.to_datetime().ok());
    at.and_then(|at: civil::DateTime| Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> Option<Duration> {
        let now = "2026-11-16T02:47:00Z".parse().unwrap();
        retry_after(|asked| (asked == name).then_some(value), now)
    }

    #[test]
    fn retry_after_is_parsed_in_every_form() {
        for (name, value, milliseconds) in [
            ("retry-after", "3", Some(3_000)),
            ("retry-after", " 0.25 ", Some(250)),
            ("retry-after", "-1", Some(0)),
            ("retry-after", "Mon, 16 Nov 2026 02:48:00 GMT", Some(60_000)),
            ("retry-after", "Monday, 16-Nov-26 02:48:00 GMT", Some(60_000)),
            ("retry-after", "Mon Nov 16 02:48:00 2026", Some(60_000)),
            ("retry-after", "Sun, 15 Nov 2026 02:48:00 GMT", Some(0)),
            ("retry-after-ms", "1500", Some(1_500)),
            ("retry-after", "soon", None),
            ("retry-after", "NaN", None),
            ("retry-after", "", None),
            ("x-other", "3", None),
        ] {
            assert_eq!(read(name, value), milliseconds.map(Duration::from_millis), "{name}: {value}");
        }
        assert_eq!(read("retry-after", "1e300"), Some(MAX_DELAY));
        assert_eq!(read("retry-after", "inf"), Some(MAX_DELAY));
    }

    #[test]
    fn milliseconds_take_precedence() {
        let both = |name: &str| Some(if name == "retry-after-ms" { "250" } else { "1" });
        assert_eq!(retry_after(both, Timestamp::from_micros(0)), Some(Duration::from_millis(250)));
    }
}
