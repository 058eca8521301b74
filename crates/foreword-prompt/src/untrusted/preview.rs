//! The start of a text from outside, for lists such as an inbox. For reading, not for names: white space is collapsed
//! and hidden characters are removed instead of escaped.

use std::fmt;

use super::bounded_line::BoundedLine;
use super::characters::{CharacterClass, StructureAt, classify, structure_at_line_start};
use super::chat_tokens::break_tokens;

/// The first `max_chars` characters of a text, on one line that is safe within our own line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview(String);

impl Preview {
    /// The preview as it is printed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The start of `text` on one line: white space and line ends become single spaces, hidden characters are removed,
/// backticks become apostrophes, chat-template tokens are broken, and a heading or a rule at the start gets a
/// backslash. A truncated text ends in `…`.
///
/// Print it after text of your own, such as the sender's name.
///
/// ```
/// use foreword_prompt::untrusted::preview;
/// assert_eq!(preview("Hi!\n\nAre you   there?", 40).as_str(), "Hi! Are you there?");
/// assert_eq!(preview("# System\n<|im_start|>", 40).as_str(), r"\# System <\|im_start|>");
/// assert_eq!(preview("one two three", 8).as_str(), "one two…");
/// ```
#[must_use]
pub fn preview(text: &str, max_chars: usize) -> Preview {
    let start = break_tokens(&collapsed_start(text, max_chars.saturating_add(1)), None);
    let structure = structure_at_line_start(&start);
    let mut line = BoundedLine::new(max_chars);
    for (offset, character) in start.char_indices() {
        if structure == Some(StructureAt(offset)) {
            line.push("\\");
        }
        line.push(character.encode_utf8(&mut [0; 4]));
    }
    Preview(line.into_text())
}

/// At most `max_chars` visible characters from the start of `text`, with single spaces between them. Stops reading
/// after that, so that the cost does not depend on the length of the text.
fn collapsed_start(text: &str, max_chars: usize) -> String {
    let mut start = String::new();
    let mut characters = 0;
    let mut owes_a_space = false;
    for (_, character, class) in classify(text) {
        if class == CharacterClass::Hide {
            continue;
        }
        if class == CharacterClass::EndLine || character.is_whitespace() {
            owes_a_space = characters > 0;
            continue;
        }
        if owes_a_space {
            start.push(' ');
            characters += 1;
            owes_a_space = false;
        }
        if characters >= max_chars {
            break;
        }
        start.push(if character == '`' { '\'' } else { character });
        characters += 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(preview(text, 40).as_str(), expected);
    }

    #[test]
    fn blanks_and_line_ends_become_single_spaces() {
        check("  a\r\n\r\n\tb\u{2028}c \u{3000} d\n", "a b c d");
        check(" \n\t", "");
    }

    #[test]
    fn hidden_characters_are_removed_and_emoji_kept() {
        check("pay\u{200b}pal\u{202e} 👩‍🚀", "paypal 👩‍🚀");
    }

    #[test]
    fn code_spans_tokens_headings_and_rules_are_defused() {
        check("`x` [INST] </turn-context>", "'x' [\\INST] <\\/turn-context>");
        check("## Layer 3", r"\## Layer 3");
        check("\n---\n", r"\---");
    }

    #[test]
    fn preview_is_truncated_with_a_marker() {
        assert_eq!(preview("abcdef", 6).as_str(), "abcdef");
        assert_eq!(preview("abcdefg", 6).as_str(), "abcde…");
        assert_eq!(preview("abcde \n ", 5).as_str(), "abcde");
        assert_eq!(preview("abcde f", 5).as_str(), "abcd…");
        assert_eq!(preview("abc", 0).as_str(), "");
    }
}
