//! Masks secrets in text: known keys exactly, and anything that looks like a key.

const MASK: &str = "[masked]";

/// The ellipsis at the end of truncated text.
const CUT: char = '…';

/// Shorter values are not masked: that would black out ordinary words.
const MIN_SECRET_LEN: usize = 4;

/// Prefixes of API keys.
const KEY_PREFIXES: [&str; 14] = [
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

/// `text` without `secrets`, and without the start of a secret where truncation cut it.
pub(crate) fn without<'s>(text: &str, secrets: impl IntoIterator<Item = &'s str>) -> String {
    let mut masked = text.to_owned();
    for secret in secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET_LEN) {
        masked = masked.replace(secret, MASK);
        let Some(kept) = masked.strip_suffix(CUT) else { continue };
        let beginnings = (MIN_SECRET_LEN..secret.len()).rev().filter_map(|end| secret.get(..end));
        let whole = beginnings.filter_map(|beginning| kept.strip_suffix(beginning)).next();
        if let Some(whole) = whole {
            masked = format!("{whole}{MASK}{CUT}");
        }
    }
    masked
}

/// `text` without `secrets` and without anything that looks like a key.
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
    let begins = KEY_PREFIXES.iter().any(|beginning| word.starts_with(beginning));
    // Providers mask parts of a key with these characters.
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
    fn keys_and_key_like_strings_are_masked() {
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
    fn truncated_key_is_masked() {
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
    fn ordinary_text_is_not_masked() {
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
