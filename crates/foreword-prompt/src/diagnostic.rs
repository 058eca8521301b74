//! A problem at a position in a text, with advice. Shared by both template dialects and the
//! blueprint parser. Never prints; the command line draws the caret.

use std::ops::Range;
use std::sync::Arc;

/// The severity of a [`Diagnostic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The text cannot be used.
    Error,
    /// The text works, but probably not as intended.
    Warning,
}

/// A problem with the bytes `span` of some text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name for this kind of problem, such as `unknown_variable_type`.
    pub code: &'static str,
    /// The message in lower case, with literals in backticks.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The bytes of the text it is about.
    pub span: Range<usize>,
}

/// A 1-based line and column; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// The position of byte `offset` in `text`.
///
/// ```
/// use foreword_prompt::diagnostic::position_of;
/// let place = position_of("one\ntwö!", 8);
/// assert_eq!((place.line, place.column), (2, 4));
/// ```
pub fn position_of(text: &str, offset: usize) -> Position {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// The line of `text` at `at`, with carets under the bytes `span`, as plain text.
///
/// ```
/// use foreword_prompt::diagnostic::{excerpt, position_of};
/// let text = "one\nnmae: alice\n";
/// assert_eq!(excerpt(text, position_of(text, 4), 4..8), "  |\n2 | nmae: alice\n  | ^^^^");
/// ```
#[must_use]
pub fn excerpt(text: &str, at: Position, span: Range<usize>) -> String {
    let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
    let number = at.line.to_string();
    let gutter = " ".repeat(number.len());
    let column = at.column.saturating_sub(1);
    let before: String = line.chars().take(column).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let rest = line.chars().count().saturating_sub(column);
    let marked = text.get(span).map_or(0, |text| text.chars().count());
    let carets = "^".repeat(marked.min(rest).max(1));
    format!("{gutter} |\n{number} | {line}\n{gutter} | {before}{carets}")
}

/// The candidate most similar to `word`, if one is similar enough to suggest.
///
/// ```
/// use foreword_prompt::diagnostic::did_you_mean;
/// assert_eq!(did_you_mean("sytem", ["system", "prompt"]), Some("system"));
/// assert_eq!(did_you_mean("weather", ["system", "prompt"]), None);
/// ```
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let allowed = match word.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A template that cannot be parsed or rendered: file, position, reason and help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}:{}: {message}", .at.line, .at.column)]
pub struct TemplateError {
    /// The name the template is known by: a path below its root, or `<inline>`.
    pub file: Box<str>,
    /// Where in the file.
    pub at: Position,
    /// The message.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The bytes of `text` it is about, if they are known.
    pub span: Option<Range<usize>>,
    /// The template's text, so that a reader can be shown the line.
    pub text: Arc<str>,
}
