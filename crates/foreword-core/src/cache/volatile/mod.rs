//! Detects volatile values: clocks and random ids. Only the current text is available, so a clock must show the time of
//! the request, and the value must be the only change.

mod clock;
mod id;

use std::ops::Range;

use super::chunk_hashes::{CHUNK, Differing};
use crate::timestamp::Timestamp;

pub use id::IdForm;

/// How many bytes around a difference to inspect: a value may start before its changed bytes.
pub(super) const AROUND: usize = CHUNK;

/// A difference of more chunks than this is not a single value.
const MAX_WINDOWS: usize = 16;

/// By how many bytes a date can grow: `May` and `September`, `Friday` and `Wednesday`.
const MAX_CLOCK_GROWTH: usize = 10;

/// By how many digits a random number can grow.
const MAX_ID_GROWTH: usize = 2;

/// When the two requests were sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) previous: Timestamp,
    pub(super) current: Timestamp,
}

/// The kind of a volatile value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Clock,
    Id(IdForm),
}

/// A volatile value and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) kind: ValueKind,
    pub(super) range: Range<usize>,
}

/// The volatile value that alone explains the difference, if any. `text` starts at byte `start` of the layer or
/// section.
pub(super) fn sole_difference(
    difference: &Differing,
    text: &[u8],
    start: usize,
    times: Times,
) -> Option<Value> {
    let windows = &difference.windows;
    if windows.is_empty() || windows.len() > MAX_WINDOWS {
        return None;
    }
    let values: Vec<Value> = scan(&without_escapes(text), times)
        .into_iter()
        .map(|value| Value { range: value.range.start + start..value.range.end + start, ..value })
        .filter(|value| difference.length_change <= max_growth(value.kind))
        .collect();
    let within = |window: &Range<usize>, value: &Value| {
        value.range.start < window.end && value.range.end > window.start
    };
    if !windows.iter().all(|window| values.iter().any(|value| within(window, value))) {
        return None;
    }
    let first: Vec<&Value> = values.iter().filter(|value| within(&windows[0], value)).collect();
    // A clock that shows the time of the request is strong evidence; an id may have been there before.
    let clock = first.iter().find(|value| value.kind == ValueKind::Clock);
    clock.or(first.first()).map(|value| (*value).clone())
}

fn max_growth(kind: ValueKind) -> usize {
    match kind {
        ValueKind::Clock => MAX_CLOCK_GROWTH,
        ValueKind::Id(_) => MAX_ID_GROWTH,
    }
}

/// All volatile values of a text, in order.
fn scan(text: &[u8], times: Times) -> Vec<Value> {
    let mut values = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if !text[at].is_ascii_alphanumeric() || (at > 0 && text[at - 1].is_ascii_alphanumeric()) {
            at += 1;
            continue;
        }
        // Ids come first: a part of an id may parse as a time.
        let found = id::at(text, at).map(|(form, end)| (ValueKind::Id(form), end));
        let found = match found {
            Some((ValueKind::Id(IdForm::Number), end)) => Some(
                clock::at(text, at, times)
                    .map_or((ValueKind::Id(IdForm::Number), end), |end| (ValueKind::Clock, end)),
            ),
            Some(id) => Some(id),
            None => clock::at(text, at, times).map(|end| (ValueKind::Clock, end)),
        };
        match found {
            Some((kind, end)) => {
                values.push(Value { kind, range: at..end });
                at = end;
            }
            None => at += 1,
        }
    }
    values
}

/// Replaces JSON escapes with spaces, so that the `n` of a line break is not read as a letter of the next word.
fn without_escapes(text: &[u8]) -> Vec<u8> {
    let mut plain = text.to_vec();
    let mut at = 0;
    while at + 1 < plain.len() {
        if plain[at] == b'\\' && matches!(plain[at + 1], b'n' | b'r' | b't' | b'"' | b'\\' | b'/') {
            plain[at..at + 2].fill(b' ');
            at += 1;
        }
        at += 1;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(ValueKind, String)> {
        let times = Times {
            previous: "2026-06-04T23:50:00Z".parse().unwrap(),
            current: "2026-06-05T00:03:10Z".parse().unwrap(),
        };
        let values = scan(&without_escapes(text.as_bytes()), times);
        values.into_iter().map(|value| (value.kind, text[value.range].to_owned())).collect()
    }

    #[test]
    fn clocks_are_parsed_in_common_formats() {
        for clock in [
            "2026-06-05",
            "2026-06-05T00:03:07Z",
            "2026-06-05 00:03:07.123456+00:00",
            "2026-06-05T02:03:07+02:00",
            "2026-06-04 20:03",
            "2026/06/05",
            "05/06/2026",
            "06/05/2026",
            "05.06.2026",
            "June 5, 2026",
            "June 5th, 2026 at 12:03 AM",
            "5 June 2026",
            "Jun 5",
            "05 Jun 2026 00:03:07 GMT",
            "1780617787",
            "1780617787.123",
            "1780617787123",
            "1780617787123456789",
        ] {
            assert_eq!(kinds(&format!("Now: {clock}, and on.")), [(ValueKind::Clock, clock.to_owned())]);
            assert_eq!(
                kinds(&format!(r#"{{"text":"a\n{clock}\n"}}"#)),
                [(ValueKind::Clock, clock.to_owned())]
            );
        }
        assert_eq!(kinds("the time is 00:03"), [(ValueKind::Clock, "00:03".to_owned())]);
    }

    #[test]
    fn past_times_are_not_clocks() {
        for text in [
            "Reviewed 2024-03-01.",
            "Valid until 2026-12-31",
            "2026-06-04",
            "the office opens at 09:15",
            "call 1234567890",
            "order 4111111111111",
            "January 5, 2026",
            "99/99/2026",
            "2026-13-40",
            "May I ask 5 times?",
            "verse 12:34",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }

    #[test]
    fn ids_are_distinguished_from_prose_and_clocks() {
        for (text, form, id) in [
            (
                "id 3f2b8c1e-9d4a-4c6f-8b2e-1a2b3c4d5e6f.",
                IdForm::Uuid,
                "3f2b8c1e-9d4a-4c6f-8b2e-1a2b3c4d5e6f",
            ),
            ("0197420f-5c3b-7e21-9f00-1a2b3c4d5e6f", IdForm::Uuid, "0197420f-5c3b-7e21-9f00-1a2b3c4d5e6f"),
            ("trace 01JWZ8N4T2V9Q6K3R5X7Y1B0CD", IdForm::Ulid, "01JWZ8N4T2V9Q6K3R5X7Y1B0CD"),
            ("call req_011CSHoEeqs5C35K2UUqR7Fy", IdForm::Letters, "req_011CSHoEeqs5C35K2UUqR7Fy"),
            ("at 9fceb02d0ae598e95dc970b74767f193", IdForm::Hex, "9fceb02d0ae598e95dc970b74767f193"),
            ("nonce=a81f3c", IdForm::Hex, "a81f3c"),
            ("seed: 81235129", IdForm::Number, "81235129"),
        ] {
            assert_eq!(kinds(text), [(ValueKind::Id(form), id.to_owned())], "{text}");
        }
        for text in [
            "claude-sonnet-4-5-20250929",
            "sha256 of utf8",
            "internationalisation",
            "decade facade",
            "v1.2.3",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
        assert_eq!(kinds("request id: 1780617787123"), [(ValueKind::Clock, "1780617787123".to_owned())]);
    }
}
