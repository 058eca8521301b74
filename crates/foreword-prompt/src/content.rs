//! The content of a source (absent, empty or text), and the merge of a file with a built-in text. Reads nothing.

use std::sync::Arc;

use crate::layer::Merge;

/// The line that makes a file replace the built-in text it would otherwise be appended to.
pub const OVERRIDE_MARK: &str = "<!-- override -->";

/// The content of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Absent, with the reason.
    Absent(String),
    /// Present but empty.
    Empty,
    /// Present.
    Text(Arc<str>),
}

impl Content {
    /// The content of a text: blank text is [`Content::Empty`]; blank lines at both ends are removed.
    #[must_use]
    pub fn of_block(text: &Arc<str>) -> Self {
        let trimmed = text.trim_start_matches(['\r', '\n']).trim_end();
        if trimmed.trim().is_empty() {
            Self::Empty
        } else if trimmed.len() == text.len() {
            Self::Text(Arc::clone(text))
        } else {
            Self::Text(trimmed.into())
        }
    }

    /// The content of a text that must stay unchanged.
    #[must_use]
    pub fn exactly(text: Arc<str>) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Text(text) }
    }
}

/// Which text a merge took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The user's file.
    File,
    /// The built-in text.
    Builtin,
    /// One after the other.
    Both,
}

/// Merges a file and a built-in text by a merge rule.
///
/// ```
/// use foreword_prompt::content::{merge, Content, Taken};
/// use foreword_prompt::layer::Merge;
/// let blank = Content::of_block(&"  \n".into());
/// let (content, taken) = merge(blank, Some("Plain text only."), Merge::Fallback);
/// assert_eq!((content, taken), (Content::Text("Plain text only.".into()), Taken::Builtin));
/// ```
#[must_use]
pub fn merge(file: Content, builtin: Option<&str>, rule: Merge) -> (Content, Taken) {
    let Some(builtin) = builtin.map(str::trim_end).filter(|text| !text.is_empty()) else {
        return (file, Taken::File);
    };
    let fallback = || (Content::Text(builtin.into()), Taken::Builtin);
    match (file, rule) {
        (Content::Absent(_), _) | (Content::Empty, Merge::Fallback | Merge::Append) => fallback(),
        (Content::Empty, Merge::Replace) => (Content::Empty, Taken::File),
        (Content::Text(text), rule) => match (overriding(&text), rule) {
            (Some(rest), _) => (Content::of_block(&rest.into()), Taken::File),
            (None, Merge::Append) => (Content::Text(format!("{builtin}\n\n{text}").into()), Taken::Both),
            (None, Merge::Replace | Merge::Fallback) => (Content::Text(text), Taken::File),
        },
    }
}

fn overriding(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix(OVERRIDE_MARK)
}

/// Replaces each `{name}` in `fills`, in one pass: inserted text is not expanded again.
///
/// ```
/// use foreword_prompt::content::fill;
/// assert_eq!(fill("You are `{soul}`, {other}.", &[("soul", "Ada {other}")]), "You are `Ada {other}`, {other}.");
/// ```
#[must_use]
pub fn fill(text: &str, fills: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from_brace) = rest.split_at(open);
        out.push_str(before);
        let known = fills.iter().find_map(|(name, value)| {
            let after = from_brace[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, after))
        });
        match known {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push('{');
                rest = &from_brace[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, rule: Merge, expected: &str, taken: Taken) {
        let file = match file {
            "absent" => Content::Absent("no such file".into()),
            text => Content::of_block(&text.into()),
        };
        let expected = if expected.is_empty() { Content::Empty } else { Content::Text(expected.into()) };
        assert_eq!(merge(file, Some("Built in.\n"), rule), (expected, taken));
    }

    #[test]
    fn missing_file_keeps_built_in_text_under_every_rule() {
        for rule in [Merge::Replace, Merge::Append, Merge::Fallback] {
            check("absent", rule, "Built in.", Taken::Builtin);
        }
    }

    #[test]
    fn blank_file_removes_built_in_text_only_under_replace() {
        check("  \n", Merge::Replace, "", Taken::File);
        check("  \n", Merge::Append, "Built in.", Taken::Builtin);
        check("  \n", Merge::Fallback, "Built in.", Taken::Builtin);
    }

    #[test]
    fn append_keeps_both_and_an_override_mark_replaces() {
        check("Mine.\n", Merge::Append, "Built in.\n\nMine.", Taken::Both);
        check("<!-- override -->\nMine.\n", Merge::Append, "Mine.", Taken::File);
        check("Mine.", Merge::Fallback, "Mine.", Taken::File);
    }

    #[test]
    fn file_without_built_in_text_is_unchanged() {
        assert_eq!(merge(Content::Empty, None, Merge::Append), (Content::Empty, Taken::File));
    }
}
