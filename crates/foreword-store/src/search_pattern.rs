//! A case-insensitive substring search. The engines agree on case only for ASCII, and `%` and `_` are wildcards. So a
//! `LIKE` pattern selects candidates, and the exact comparison happens here.

/// The lower-case text to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchPattern(String);

impl SearchPattern {
    /// A search for `words`.
    pub(crate) fn new(words: &str) -> Self {
        Self(words.to_lowercase())
    }

    /// Whether no stored text can match.
    pub(crate) fn has_zero_byte(&self) -> bool {
        self.0.contains('\0')
    }

    /// Whether `text` contains it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.0)
    }

    /// A pattern for `LOWER(…) LIKE … ESCAPE '!'` that matches at least every text that contains it.
    pub(crate) fn pattern(&self) -> String {
        pattern(&self.0)
    }

    /// The same for text in JSON.
    pub(crate) fn pattern_in_json(&self) -> String {
        let written = serde_json::Value::from(self.0.as_str()).to_string();
        let bare = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        pattern(bare.unwrap_or(&written))
    }
}

fn pattern(words: &str) -> String {
    let mut pattern = String::from("%");
    let mut letters = words.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '%' | '_' | '!' => pattern.extend(['!', letter]),
            // `İ` lower-cases to two characters; an engine may keep it or produce one or two.
            'i' if letters.peek() == Some(&DOT_ABOVE) => pattern.push('%'),
            DOT_ABOVE => pattern.push('%'),
            // An engine may not have lower-cased it.
            letter if !letter.is_ascii() && has_cases(letter) => pattern.push('_'),
            letter => pattern.push(letter),
        }
    }
    pattern.push('%');
    pattern
}

/// The second character of the lower-case `İ`, after `i`.
const DOT_ABOVE: char = '\u{307}';

fn has_cases(letter: char) -> bool {
    !letter.to_lowercase().eq([letter]) || !letter.to_uppercase().eq([letter])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, plain: &str, in_json: &str) {
        let pattern = SearchPattern::new(words);
        assert_eq!((pattern.pattern().as_str(), pattern.pattern_in_json().as_str()), (plain, in_json));
    }

    #[test]
    fn like_wildcards_are_escaped() {
        check("Tea", "%tea%", "%tea%");
        check("100%_!", "%100!%!_!!%", "%100!%!_!!%");
        check("a\"b\\", "%a\"b\\%", "%a\\\"b\\\\%");
        check("Über", "%_ber%", "%_ber%");
        check("日本", "%日本%", "%日本%");
        check("İstanbul", "%%%stanbul%", "%%%stanbul%");
        check("Привет, 日本", "%______, 日本%", "%______, 日本%");
    }

    #[test]
    fn search_ignores_case() {
        assert!(SearchPattern::new("ÜBER").is_in("Kurz über lang") && SearchPattern::new("").is_in(""));
        assert!(!SearchPattern::new("100%").is_in("1000"));
    }
}
