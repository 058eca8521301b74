//! Keeps keys out of what is shown: the ones we know, letter for letter, and whatever looks like one.

const MASK: &str = "[masked]";

/// What ends a text that was cut.
const CUT: char = '…';

/// Shorter ones are no secret, and would black out ordinary words.
const SHORTEST_SECRET: usize = 4;

/// How keys begin.
const BEGINNINGS: [&str; 14] = [
    "sk-",
    "sk_",
    "pk-",
    "rk_",
    "xai-",
    "gsk_",
    "AIza",
    "ghp_",
    "github_pat_",
    "hf_",
    "nvapi-",
    "pplx-",
    "eyJ",
    "r8_",
];

/// `text` without any of `secrets`, and without the beginning of one at its end, if it was cut there.
pub(crate) fn without<'s>(text: &str, secrets: impl IntoIterator<Item = &'s str>) -> String {
    let mut masked = text.to_owned();
    for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST_SECRET) {
        masked = masked.replace(secret, MASK);
        let Some(kept) = masked.strip_suffix(CUT) else { continue };
        let beginnings = (SHORTEST_SECRET..secret.len()).rev().filter_map(|end| secret.get(..end));
        let whole = beginnings.filter_map(|beginning| kept.strip_suffix(beginning)).next();
        if let Some(whole) = whole {
            masked = format!("{whole}{MASK}{CUT}");
        }
    }
    masked
}

/// `text` without any of `secrets`, and without anything that looks like a key.
pub(crate) fn mask<'s>(text: &str, secrets: impl IntoIterator<Item = &'s str>) -> String {
    let masked = without(text, secrets);
    let mut result = String::with_capacity(masked.len());
    let mut rest = masked.as_str();
    while let Some(start) = rest.find(is_of_key) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_of_key(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        result.push_str(before);
        result.push_str(if looks_like_a_key(word) { MASK } else { word });
        rest = after;
    }
    result.push_str(rest);
    result
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '=' | '.' | '*' | '•')
}

fn looks_like_a_key(word: &str) -> bool {
    let has = |is: fn(&char) -> bool| word.chars().any(|c| is(&c));
    let begins = BEGINNINGS.iter().any(|beginning| word.starts_with(beginning));
    // A provider that shows a part of a key fills it up with these.
    let half_shown = word.contains("***") || word.contains('•');
    let mixed = word.len() >= 32
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_digit)
        && !word.contains('/');
    let hexadecimal = word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit());
    (begins && word.len() >= 8) || (half_shown && has(char::is_ascii_alphanumeric)) || mixed || hexadecimal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown_whether_it_is_ours_or_only_looks_like_one() {
        for (text, expected) in [
            ("invalid key: swordfish!", "invalid key: [masked]!"),
            (
                "Incorrect API key provided: sk-proj-abc***wxyz. Find yours",
                "Incorrect API key provided: [masked] Find yours",
            ),
            ("key ****abcd is not known", "key [masked] is not known"),
            ("token eyJhbGciOi.eyJzdWIi.sig", "token [masked]"),
            ("x 0123456789abcdef0123456789abcdef", "x [masked]"),
            ("x aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3", "x [masked]"),
        ] {
            assert_eq!(mask(text, ["swordfish"]), expected);
        }
    }

    #[test]
    fn a_key_that_was_cut_is_masked_as_far_as_it_is_there() {
        for (text, expected) in [
            ("key swordf…", "key [masked]…"),
            ("key swor…", "key [masked]…"),
            ("key swo…", "key swo…"),
            ("key swordf", "key swordf"),
            ("swordfish swordfis…", "[masked] [masked]…"),
        ] {
            assert_eq!(without(text, ["swordfish"]), expected);
        }
        assert_eq!(without("schlüss…", ["schlüssel"]), "[masked]…");
    }

    #[test]
    fn ordinary_words_stay() {
        for text in [
            "model: claude-sonnet-4-5-20250929 was not found",
            "see https://docs.example.com/Errors/2026/Prompt-Too-Long-123",
            "the 128,000 tokens ask-me ** bold ** süß",
            "request req_011CSHoEeqs5C35K2UUqR7Fy",
        ] {
            assert_eq!(mask(text, ["abc"]), text);
        }
    }
}
