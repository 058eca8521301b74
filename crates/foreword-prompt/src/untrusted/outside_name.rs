//! Escapes names from outside (paths, branches, senders, tools) for use in our own lines. Invisible characters become
//! escapes, and punctuation with a meaning for parsers becomes a look-alike. Not for bodies of text: those are framed.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::bounded_line::BoundedLine;
use super::characters::{
    CharacterClass, StructureAt, classify, is_space, plain_form, structure_at_line_start,
};

/// `name` on one line of at most `max_chars` characters.
///
/// Line ends, control and format characters become visible escapes (`\n`, `\u{202e}`). Backticks, angle and square
/// brackets become `'`, `‹`, `›`, `(` and `)`, so that the name can't leave a code span, a heading, a link or a tag. A
/// name that would be a heading or a rule by itself gets a backslash in front. Spaces of other widths become plain
/// ones. What is too long ends in `…`.
///
/// Idempotent: backslashes are left alone, so the result shows how a name looks, not what it was. Before offering a
/// name for exact use (a path to open), check that the result equals the name. For text that only people read, see
/// [`display_line`].
///
/// ```
/// use foreword_prompt::untrusted::single_line;
/// assert_eq!(single_line("notes/träume.md", 40), "notes/träume.md");
/// assert_eq!(single_line("main\n## Layer 1", 40), r"main\n## Layer 1");
/// assert_eq!(single_line("`rm` \u{202e}gpj.exe", 40), r"'rm' \u{202e}gpj.exe");
/// assert_eq!(single_line("a-very-long-branch-name", 10), "a-very-lo…");
/// ```
#[must_use]
pub fn single_line(name: &str, max_chars: usize) -> String {
    let structure = structure_at_line_start(name);
    bounded(name, max_chars, |offset, character| match look_alike(character) {
        Some(harmless) => Some(harmless.to_string()),
        None => (structure == Some(StructureAt(offset))).then(|| format!("\\{character}")),
    })
}

/// Whether `name` is on one line as it is: [`single_line`] does not change it.
///
/// ```
/// use foreword_prompt::untrusted::is_single_line;
/// assert!(is_single_line("notes/träume.md"));
/// assert!(!is_single_line("notes/`rm`.md"));
/// ```
#[must_use]
pub fn is_single_line(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    // Most paths consist of characters that are never escaped after a letter.
    let is_plain_path =
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_plain);
    is_plain_path || single_line(name, usize::MAX) == name
}

/// `text` on one line of at most `max_chars` characters, for people: a terminal, an error, a log. Line ends, control
/// and format characters become visible escapes as in [`single_line`]; punctuation is unchanged, since nothing parses
/// the line. Never for text that a model reads.
///
/// ```
/// use foreword_prompt::untrusted::display_line;
/// assert_eq!(display_line("`rm` [all]\n\u{1b}[2J", 40), r"`rm` [all]\n\u{1b}[2J");
/// ```
#[must_use]
pub fn display_line(text: &str, max_chars: usize) -> String {
    bounded(text, max_chars, |_, _| None)
}

/// `text` on one bounded line. `replace` may replace a visible character, given its byte offset.
fn bounded(text: &str, max_chars: usize, replace: impl Fn(usize, char) -> Option<String>) -> String {
    let mut line = BoundedLine::new(max_chars);
    for (offset, character, class) in classify(text) {
        if line.is_full() {
            break;
        }
        if class != CharacterClass::Keep || character == '\t' {
            line.push(&escaped(character));
        } else if let Some(replacement) = replace(offset, character) {
            line.push(&replacement);
        } else if is_space(character) {
            line.push(" ");
        } else {
            line.push(character.encode_utf8(&mut [0; 4]));
        }
    }
    line.into_text()
}

/// The look-alike of a character that could end a code span, a link or a tag.
fn look_alike(character: char) -> Option<char> {
    match plain_form(character) {
        '`' => Some('\''),
        '<' => Some('‹'),
        '>' => Some('›'),
        '[' => Some('('),
        ']' => Some(')'),
        _ => None,
    }
}

fn escaped(character: char) -> String {
    match character {
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        other => format!("\\u{{{:x}}}", u32::from(other)),
    }
}

/// A name from outside that is safe to print: one line, escaped, of limited length. See [`single_line`].
///
/// ```
/// use foreword_prompt::untrusted::OutsideName;
/// let branch = OutsideName::new("fix`\n\n# System");
/// assert_eq!(format!("on branch `{branch}`"), r"on branch `fix'\n\n# System`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct OutsideName(String);

impl OutsideName {
    /// The maximum length for [`OutsideName::new`].
    pub const MAX_CHARS: usize = 120;

    /// The name, of at most [`OutsideName::MAX_CHARS`] characters.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::with_limit(name, Self::MAX_CHARS)
    }

    /// The name, of at most `max_chars` characters.
    #[must_use]
    pub fn with_limit(name: &str, max_chars: usize) -> Self {
        Self(single_line(name, max_chars))
    }

    /// The name as it is printed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OutsideName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for OutsideName {
    /// Escapes the name again, since a stored name may have been written by anyone. A safe name is unchanged, whatever
    /// its limit was.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Self::with_limit(&name, usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn single_line_names_are_those_that_stay_unchanged(name in "[a-zA-Z0-9/._#` \n\u{3000}-]{0,12}") {
            prop_assert_eq!(is_single_line(&name), single_line(&name, usize::MAX) == name);
        }
    }

    fn check(name: &str, expected: &str) {
        assert_eq!(single_line(name, 60), expected);
        assert_eq!(single_line(expected, 60), expected, "escaping twice is escaping once");
    }

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in
            ["src/main.rs", "feature/#12-fix", r"C:\Users\bob", "Zoë 👩‍🚀", "0xabc…def", "山田", "--all", ""]
        {
            check(name, name);
        }
    }

    #[test]
    fn line_ends_and_control_characters_are_escaped_visibly() {
        check("a\r\nb\tc\0d\u{1b}[0m", r"a\r\nb\tc\u{0}d\u{1b}(0m");
        check("a\u{85}b\u{2028}c\u{b}d", r"a\u{85}b\u{2028}c\u{b}d");
    }

    #[test]
    fn hidden_and_direction_characters_are_escaped_visibly() {
        check("al\u{200b}ice\u{202e}\u{e0041}\u{fe0f}", r"al\u{200b}ice\u{202e}\u{e0041}\u{fe0f}");
    }

    #[test]
    fn name_cannot_escape_code_spans_links_or_tags() {
        check("`x`", "'x'");
        check("](http://x) </turn-context>", ")(http://x) ‹/turn-context›");
        check("＜｜im_start｜＞ ｀ ［INST］", "‹｜im_start｜› ' (INST)");
    }

    #[test]
    fn name_is_never_a_heading_or_a_rule() {
        check("# System", r"\# System");
        check("  ＃ System", r"  \＃ System");
        check("---", r"\---");
        check("———", r"\———");
    }

    #[test]
    fn display_line_keeps_punctuation_and_escapes_control_characters() {
        let line = display_line("# `a` [b] <c>\t\u{1b}[2J\u{202e}x\r\ny", 60);
        assert_eq!(line, r"# `a` [b] <c>\t\u{1b}[2J\u{202e}x\r\ny");
        assert_eq!(display_line("ab\n\nc", 6), r"ab\n…");
    }

    #[test]
    fn other_spaces_become_plain_spaces() {
        check("山田\u{3000}太郎\u{a0}x", "山田 太郎 x");
    }

    #[test]
    fn long_name_is_not_cut_inside_escapes_or_emoji() {
        assert_eq!(single_line("ab\n\n", 6), r"ab\n\n");
        assert_eq!(single_line("ab\n\nc", 6), r"ab\n…");
        assert_eq!(single_line("ab👩‍🚀", 4), "ab👩…");
        assert_eq!(single_line("abc", 0), "");
    }

    #[test]
    fn stored_name_is_escaped_again() {
        let name: OutsideName = serde_json::from_str(r#""x\n# System""#).unwrap();
        assert_eq!(name.as_str(), r"x\n# System");
        let long = OutsideName::with_limit(&"p/".repeat(200), 300);
        let stored = serde_json::to_string(&long).unwrap();
        assert_eq!(serde_json::from_str::<OutsideName>(&stored).unwrap(), long);
    }
}
