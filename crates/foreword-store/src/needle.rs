//! Words that somebody looks for, whatever their case, as a part of a text. The engines agree on cases only where letters are
//! ASCII, and read `%` and `_` as more than themselves: so they are asked for what may hold the words, and it is looked at here.

/// Words to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needle(String);

impl Needle {
    /// These words.
    pub(crate) fn new(words: &str) -> Self {
        Self(words.to_lowercase())
    }

    /// Whether they are none that could be stored.
    pub(crate) fn has_zero_byte(&self) -> bool {
        self.0.contains('\0')
    }

    /// Whether `text` holds them.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.0)
    }

    /// For `LOWER(…) LIKE … ESCAPE '!'`: what every text is like that holds them.
    pub(crate) fn pattern(&self) -> String {
        pattern(&self.0)
    }

    /// The same for a text that is written as JSON.
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
            // The only letter that is two in lower case: an engine may leave it, or make one or two of it.
            'i' if letters.peek() == Some(&DOT_ABOVE) => pattern.push('%'),
            DOT_ABOVE => pattern.push('%'),
            // One that an engine may have left in its other case.
            letter if !letter.is_ascii() && has_cases(letter) => pattern.push('_'),
            letter => pattern.push(letter),
        }
    }
    pattern.push('%');
    pattern
}

/// What `İ` has in lower case, behind an `i`.
const DOT_ABOVE: char = '\u{307}';

fn has_cases(letter: char) -> bool {
    !letter.to_lowercase().eq([letter]) || !letter.to_uppercase().eq([letter])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, plain: &str, in_json: &str) {
        let needle = Needle::new(words);
        assert_eq!((needle.pattern().as_str(), needle.pattern_in_json().as_str()), (plain, in_json));
    }

    #[test]
    fn what_an_engine_takes_for_more_than_itself_is_escaped_and_letters_it_may_not_lower_are_left_open() {
        check("Tea", "%tea%", "%tea%");
        check("100%_!", "%100!%!_!!%", "%100!%!_!!%");
        check("a\"b\\", "%a\"b\\%", "%a\\\"b\\\\%");
        check("Über", "%_ber%", "%_ber%");
        check("日本", "%日本%", "%日本%");
        check("İstanbul", "%%%stanbul%", "%%%stanbul%");
        check("Привет, 日本", "%______, 日本%", "%______, 日本%");
    }

    #[test]
    fn words_are_found_whatever_their_case() {
        assert!(Needle::new("ÜBER").is_in("Kurz über lang") && Needle::new("").is_in(""));
        assert!(!Needle::new("100%").is_in("1000"));
    }
}
