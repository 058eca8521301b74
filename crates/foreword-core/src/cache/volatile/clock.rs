//! Parses dates and times and checks whether one changed between two requests.

use super::Times;

/// Tolerance for clock skew between two machines and the time from building a prompt to sending it.
const MAX_CLOCK_SKEW: i64 = 120;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Words that mark a time of day as the current one.
const NOW_WORDS: [&[u8]; 6] = [b"time", b"now", b"clock", b"date", b"today", b"as of"];

/// A clock reading: the second at which the display changed to it, as if in UTC, and the UTC offset if given.
struct ClockReading {
    second: i64,
    zone: Option<i64>,
}

/// The end of the clock that starts at `start`, if its reading can only have been written between the two requests.
pub(super) fn at(text: &[u8], start: usize, times: Times) -> Option<usize> {
    let reader = Reader { text, at: start };
    let unix = || reader.unix().map(|(second, end)| (vec![ClockReading { second, zone: Some(0) }], end));
    let dated = || {
        let (days, after) = reader.dates(times)?;
        let (time, zone, end) = after.time_behind_a_date();
        Some((days.into_iter().map(|day| ClockReading { second: day * DAY + time, zone }).collect(), end))
    };
    let time = || reader.time_alone(times);
    [unix(), dated(), time()]
        .into_iter()
        .flatten()
        .find(|(readings, _): &(Vec<ClockReading>, usize)| readings.iter().any(|shown| shown.is_new(times)))
        .map(|(_, end)| end)
}

impl ClockReading {
    /// Whether the reading falls between the two requests, in any time zone.
    fn is_new(&self, times: Times) -> bool {
        let from = times.previous.as_micros() / 1_000_000 - MAX_CLOCK_SKEW;
        let to = times.current.as_micros() / 1_000_000 + MAX_CLOCK_SKEW;
        let fits = |zone: i64| (from + 1..=to).contains(&(self.second - zone));
        match self.zone {
            Some(zone) => fits(zone),
            None => (-24..=28).any(|half_hours| fits(half_hours * 30 * MINUTE)),
        }
    }
}

/// A position in a text.
#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(self) -> &'a [u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    fn skip(self, count: usize) -> Self {
        Self { at: self.at + count, ..self }
    }

    /// Skips this text, ignoring case.
    fn word(self, word: &str) -> Option<Self> {
        let there = self.rest().get(..word.len())?;
        there.eq_ignore_ascii_case(word.as_bytes()).then(|| self.skip(word.len()))
    }

    fn any_word(self, words: &[&str]) -> Self {
        words.iter().find_map(|word| self.word(word)).unwrap_or(self)
    }

    /// A number, its count of digits, and the position after it.
    fn number(self) -> Option<(i64, usize, Self)> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(&self.rest()[..digits]).ok()?;
        Some((text.parse().ok()?, digits, self.skip(digits)))
    }

    fn short_number(self) -> Option<(i64, Self)> {
        self.number().filter(|(_, digits, _)| *digits <= 2).map(|(value, _, after)| (value, after))
    }

    fn year(self) -> Option<(i64, Self)> {
        let (year, digits, after) = self.number()?;
        (digits == 4 && (1970..2200).contains(&year)).then_some((year, after))
    }

    /// Seconds since 1970, from seconds, milliseconds, microseconds or nanoseconds.
    fn unix(self) -> Option<(i64, usize)> {
        let (value, digits, after) = self.number()?;
        let second = match digits {
            10 => value,
            13 => value / 1_000,
            16 => value / 1_000_000,
            19 => value / 1_000_000_000,
            _ => return None,
        };
        let fraction = after.word(".").and_then(Self::number).filter(|_| digits == 10);
        Some((second, fraction.map_or(after.at, |(_, _, after)| after.at)))
    }

    /// The days since 1970 that a date can mean.
    fn dates(self, times: Times) -> Option<(Vec<i64>, Self)> {
        let (days, after) = self.numeric_date().or_else(|| self.named_date(times))?;
        (!days.is_empty()).then_some((days, after))
    }

    fn numeric_date(self) -> Option<(Vec<i64>, Self)> {
        if let Some((year, after)) = self.year() {
            let sign = ["-", "/", "."].into_iter().find(|sign| after.word(sign).is_some())?;
            let (month, after) = after.word(sign)?.short_number()?;
            let (date, after) = after.word(sign)?.short_number()?;
            return Some((day(year, month, date).into_iter().collect(), after));
        }
        let (first, after) = self.short_number()?;
        let sign = ["/", ".", "-"].into_iter().find(|sign| after.word(sign).is_some())?;
        let (second, after) = after.word(sign)?.short_number()?;
        let (year, after) = after.word(sign)?.year()?;
        // Day and month, or month and day.
        Some((day(year, second, first).into_iter().chain(day(year, first, second)).collect(), after))
    }

    fn named_date(self, times: Times) -> Option<(Vec<i64>, Self)> {
        let (month, date, after) = match self.month() {
            Some((month, after)) => {
                let (date, after) = after.word(" ")?.short_number()?;
                (month, date, after.any_word(&["st", "nd", "rd", "th"]))
            }
            None => {
                let (date, after) = self.short_number()?;
                let (month, after) = after.any_word(&["st", "nd", "rd", "th"]).word(" ")?.month()?;
                (month, date, after)
            }
        };
        let year = after.any_word(&[","]).word(" ").and_then(Self::year);
        // Without a year, the current year.
        let this_year =
            i64::from(jiff::Timestamp::from(times.current).to_zoned(jiff::tz::TimeZone::UTC).year());
        let (year, after) = year.unwrap_or((this_year, after));
        Some((day(year, month, date).into_iter().collect(), after))
    }

    fn month(self) -> Option<(i64, Self)> {
        let letters = self.rest().iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = std::str::from_utf8(&self.rest()[..letters]).ok()?.to_ascii_lowercase();
        let index = MONTHS
            .iter()
            .position(|month| *month == word || (word.len() == 3 && month.starts_with(&word)))?;
        let after = self.skip(letters);
        Some((index as i64 + 1, after.word(".").filter(|_| letters == 3).unwrap_or(after)))
    }

    /// The seconds of the day after a date, if any, the zone and the end.
    fn time_behind_a_date(self) -> (i64, Option<i64>, usize) {
        let between =
            ["T", " at ", ", ", " "].into_iter().find_map(|between| self.word(between)?.time_of_day());
        match between {
            Some((second, after)) => {
                let (zone, end) = after.zone();
                (second, zone, end)
            }
            None => (0, None, self.at),
        }
    }

    /// A time of day without a date, if a word marks it as the current time.
    fn time_alone(self, times: Times) -> Option<(Vec<ClockReading>, usize)> {
        let before = self.text[self.at.saturating_sub(24)..self.at].to_ascii_lowercase();
        let says_now = NOW_WORDS.iter().any(|word| before.windows(word.len()).any(|there| there == *word));
        let (second, after) = self.time_of_day().filter(|_| says_now)?;
        let (zone, end) = after.zone();
        let today = times.current.as_micros().div_euclid(1_000_000 * DAY);
        let days = today - 1..=today + 1;
        Some((days.map(|day| ClockReading { second: day * DAY + second, zone }).collect(), end))
    }

    fn time_of_day(self) -> Option<(i64, Self)> {
        let (hour, after) = self.short_number()?;
        let (minute, after) = after.word(":")?.two_digits(60)?;
        let seconds = after.word(":").and_then(|after| after.two_digits(61));
        let (second, after) = seconds.unwrap_or((0, after));
        let fraction = after.word(".").and_then(Self::number);
        let after = fraction.map_or(after, |(_, _, after)| after);
        let half = after.any_word(&[" "]);
        let (hour, after) = match (half.word("am"), half.word("pm")) {
            (Some(after), _) => (hour % 12, after),
            (_, Some(after)) => (hour % 12 + 12, after),
            _ => (hour, after),
        };
        (hour < 24).then_some((hour * HOUR + minute * MINUTE + second, after))
    }

    /// A number of two digits, less than `limit`.
    fn two_digits(self, limit: i64) -> Option<(i64, Self)> {
        let (value, digits, after) = self.number()?;
        (digits == 2 && value < limit).then_some((value, after))
    }

    fn zone(self) -> (Option<i64>, usize) {
        for name in ["Z", " UTC", " GMT", "UTC", "GMT"] {
            if let Some(after) = self.word(name) {
                return (Some(0), after.at);
            }
        }
        let spaced = self.any_word(&[" "]);
        let signed =
            spaced.word("+").map(|after| (1, after)).or_else(|| spaced.word("-").map(|after| (-1, after)));
        let zone = signed.and_then(|(sign, after)| {
            let (value, digits, after) = after.number()?;
            match digits {
                4 => Some((sign * (value / 100 * HOUR + value % 100 * MINUTE), after.at)),
                2 => {
                    let (minute, after) = after.word(":")?.short_number()?;
                    Some((sign * (value * HOUR + minute * MINUTE), after.at))
                }
                _ => None,
            }
        });
        zone.map_or((None, self.at), |(zone, end)| (Some(zone), end))
    }
}

/// Days since 1970, if the date exists.
fn day(year: i64, month: i64, date: i64) -> Option<i64> {
    let date =
        jiff::civil::Date::new(year.try_into().ok()?, month.try_into().ok()?, date.try_into().ok()?).ok()?;
    Some(date.duration_since(jiff::civil::date(1970, 1, 1)).as_hours() / 24)
}
