//! Displays text from outside (paths, branch names, descriptions) on one line: characters that could break the line, or
//! hide or reorder text, are escaped. Unlike `foreword_prompt::untrusted` it keeps brackets and backticks, since people
//! read and copy these lines. Never truncates.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes control, format and line-separator characters in `text`, so that it is one visible line.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            hidden if is_deceptive(hidden) => {
                // Writing to a `String` can't fail.
                let _ = write!(line, "\\u{{{:x}}}", u32::from(hidden));
            }
            visible => line.push(visible),
        }
    }
    Cow::Owned(line)
}

fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_breaks_and_hidden_characters_are_escaped() {
        assert_eq!(one_line("main\n# Owner\u{202e}x\u{2028}"), "main\\n# Owner\\u{202e}x\\u{2028}");
        assert!(matches!(one_line("Café/ä.md"), Cow::Borrowed("Café/ä.md")));
    }
}
