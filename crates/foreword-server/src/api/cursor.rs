//! Opaque pagination cursors: hex-encoded, so that any id can be part of a URL.

use crate::problem::Problem;

/// Separates the parts. No id contains it.
const SEPARATOR: char = '\u{1f}';

/// Encodes a cursor.
pub(crate) fn cursor(parts: &[&str]) -> String {
    let joined = parts.join(&SEPARATOR.to_string());
    joined.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes a cursor of `N` parts.
pub(crate) fn parts<const N: usize>(word: &str) -> Result<[String; N], Problem> {
    let bad = || {
        Problem::bad_request("bad_cursor", "`after` is not a valid cursor of this list")
            .help("use `next` of the previous page, or omit it")
    };
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes: Option<Vec<u8>> = word
        .as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(bad)?;
    let parts: Vec<String> = text.split(SEPARATOR).map(str::to_owned).collect();
    parts.try_into().map_err(|_| bad())
}

/// Parses a part of a cursor.
pub(crate) fn part<T: std::str::FromStr>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| Problem::bad_request("bad_cursor", "`after` is not a valid cursor of this list"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_cursors_are_refused() {
        for bad in ["", "7", "zz", "ff", "7q", "é", "616263"] {
            assert_eq!(parts::<2>(bad).unwrap_err().code(), "bad_cursor", "{bad}");
        }
    }

    proptest! {
        #[test]
        fn cursor_round_trips(one in "[^\u{1f}]*", other in "[^\u{1f}]*") {
            let word = cursor(&[&one, &other]);
            prop_assert!(word.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            prop_assert_eq!(parts::<2>(&word).unwrap(), [one, other]);
        }
    }
}
