//! Names that come from outside (paths, branches, senders, tools), made fit to stand in a line of ours. What a
//! reader could not see, or a parser could trip over, is written out as an escape. Not for bodies of text: those
//! are framed.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::bounded_line::BoundedLine;
use super::characters::{Fate, StructureAt, fates, is_space, plain_form, structure_at_line_start};

/// `name` on one line of at most `max_chars` characters.
///
/// Line ends, control and format characters become visible escapes (`\n`, `\u{202e}`), and so do backticks, angle
/// and square brackets, so that the name can't leave a code span, a heading, a link or a tag. A name that would be
/// a heading or a rule by itself has its first character escaped. Spaces of other widths become plain ones. What is
/// too long ends in `…`.
///
/// Doing it twice changes nothing; backslashes are therefore left alone, and the result says how a name looks, not
/// what it was. To offer a name for exact use (a path to open), check first that the result equals the name.
///
/// ```
/// use foreword_prompt::untrusted::single_line;
/// assert_eq!(single_line("notes/träume.md", 40), "notes/träume.md");
/// assert_eq!(single_line("main\n## Layer 1", 40), r"main\n## Layer 1");
/// assert_eq!(single_line("`rm` \u{202e}gpj.exe", 40), r"\u{60}rm\u{60} \u{202e}gpj.exe");
/// assert_eq!(single_line("a-very-long-branch-name", 10), "a-very-lo…");
/// ```
#[must_use]
pub fn single_line(name: &str, max_chars: usize) -> String {
    let structure = structure_at_line_start(name);
    let mut line = BoundedLine::new(max_chars);
    for (offset, character, fate) in fates(name) {
        if line.is_full() {
            break;
        }
        let must_escape = fate != Fate::Keep
            || structure == Some(StructureAt(offset))
            || character == '\t'
            || matches!(plain_form(character), '`' | '<' | '>' | '[' | ']');
        if must_escape {
            line.push(&escaped(character));
        } else if is_space(character) {
            line.push(" ");
        } else {
            line.push(character.encode_utf8(&mut [0; 4]));
        }
    }
    line.into_text()
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
/// assert_eq!(format!("on branch `{branch}`"), r"on branch `fix\u{60}\n\n# System`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct OutsideName(String);

impl OutsideName {
    /// How many characters [`OutsideName::new`] lets a name have.
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
    /// What is read back is escaped again, since a stored name may have been written by anyone. A safe one stays as
    /// it is, whatever limit it was made with.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Self::with_limit(&name, usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        check("a\r\nb\tc\0d\u{1b}[0m", r"a\r\nb\tc\u{0}d\u{1b}\u{5b}0m");
        check("a\u{85}b\u{2028}c\u{b}d", r"a\u{85}b\u{2028}c\u{b}d");
    }

    #[test]
    fn hidden_and_direction_characters_are_escaped_visibly() {
        check("al\u{200b}ice\u{202e}\u{e0041}\u{fe0f}", r"al\u{200b}ice\u{202e}\u{e0041}\u{fe0f}");
    }

    #[test]
    fn a_name_cannot_leave_a_code_span_a_link_or_a_tag() {
        check("`x`", r"\u{60}x\u{60}");
        check("](http://x) </turn-context>", r"\u{5d}(http://x) \u{3c}/turn-context\u{3e}");
        check("＜｜im_start｜＞ ｀", r"\u{ff1c}｜im_start｜\u{ff1e} \u{ff40}");
    }

    #[test]
    fn a_name_is_never_a_heading_or_a_rule() {
        check("# System", r"\u{23} System");
        check("  ＃ System", r"  \u{ff03} System");
        check("---", r"\u{2d}--");
        check("———", r"\u{2014}——");
    }

    #[test]
    fn other_spaces_become_plain_ones() {
        check("山田\u{3000}太郎\u{a0}x", "山田 太郎 x");
    }

    #[test]
    fn a_long_name_is_cut_outside_of_escapes_and_emoji() {
        assert_eq!(single_line("ab\n\n", 6), r"ab\n\n");
        assert_eq!(single_line("ab\n\nc", 6), r"ab\n…");
        assert_eq!(single_line("ab👩‍🚀", 4), "ab👩…");
        assert_eq!(single_line("abc", 0), "");
    }

    #[test]
    fn a_name_read_back_from_storage_is_escaped_again() {
        let name: OutsideName = serde_json::from_str(r#""x\n# System""#).unwrap();
        assert_eq!(name.as_str(), r"x\n# System");
        let long = OutsideName::with_limit(&"p/".repeat(200), 300);
        let stored = serde_json::to_string(&long).unwrap();
        assert_eq!(serde_json::from_str::<OutsideName>(&stored).unwrap(), long);
    }
}
