//! Where a page ended, as a word that needs no escaping in an address: whatever is in an id, it comes back as it was.

use crate::problem::Problem;

/// What stands between the parts. No id and no address holds one.
const BETWEEN: char = '\u{1f}';

/// The word for the place behind the thing that is told apart by `parts`.
pub(crate) fn cursor(parts: &[&str]) -> String {
    let joined = parts.join(&BETWEEN.to_string());
    joined.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The parts of such a word, `N` of them.
pub(crate) fn parts<const N: usize>(word: &str) -> Result<[String; N], Problem> {
    let bad = || {
        Problem::bad_request("bad_cursor", "`after` is not where a page of this list ended")
            .help("give the `next` of the page before, or leave it out")
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
    let parts: Vec<String> = text.split(BETWEEN).map(str::to_owned).collect();
    parts.try_into().map_err(|_| bad())
}

/// One part of such a word, as what it stands for.
pub(crate) fn part<T: std::str::FromStr>(text: &str) -> Result<T, Problem> {
    text.parse()
        .map_err(|_| Problem::bad_request("bad_cursor", "`after` is not where a page of this list ended"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_that_nobody_was_given_is_refused() {
        for bad in ["", "7", "zz", "ff", "7q", "é", "616263"] {
            assert_eq!(parts::<2>(bad).unwrap_err().code(), "bad_cursor", "{bad}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_in_an_id_comes_back(one in "[^\u{1f}]*", other in "[^\u{1f}]*") {
            let word = cursor(&[&one, &other]);
            prop_assert!(word.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            prop_assert_eq!(parts::<2>(&word).unwrap(), [one, other]);
        }
    }
}
