//! YAML parsing with positions: parses into the caller's type, and turns every error into a [`DocumentError`] with
//! file, line, column and the marked line. Reads no files and knows no keys.

mod mask;

use std::ops::Range;
use std::sync::Arc;

use foreword_prompt::diagnostic::{Position, did_you_mean, excerpt, position_of};
use serde::de::DeserializeOwned;
use serde_saphyr::{DefaultMessageFormatter, Error as YamlError, Location, MessageFormatter};

use crate::one_line::one_line;

/// An invalid YAML file or front matter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}:{}: {message}", .at.line, .at.column)]
pub struct DocumentError {
    /// The file, relative to its root.
    pub file: String,
    /// The position in the file.
    pub at: Position,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The bytes of `text` the error refers to; empty if only the start is known.
    pub span: Range<usize>,
    /// The whole file.
    pub text: Arc<str>,
}

impl DocumentError {
    /// The affected line with carets below it, as plain text. Passwords, keys and header values are masked with stars.
    #[must_use]
    pub fn excerpt(&self) -> String {
        let (text, span) = mask::without_keys(&self.text, self.span.clone());
        let shown = excerpt(&text, self.at, span);
        // Only where a URL may be: elsewhere a `:` before an `@` can be part of a user name.
        let may_hold_one = ["://", "url", "password"].iter().any(|sign| shown.contains(sign));
        if may_hold_one { mask::without_passwords(&shown) } else { shown }
    }
}

/// A YAML text and its position in a file.
///
/// ```
/// use foreword_workspace::document::YamlSource;
/// #[derive(Debug, serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Card { name: String }
///
/// let source = YamlSource::whole("card.yaml", "nmae: alice\n".into());
/// let error = source.parse::<Card>().unwrap_err();
/// assert_eq!(error.to_string(), "card.yaml:1:1: unknown key `nmae`");
/// assert_eq!(error.help.as_deref(), Some("did you mean `name`?"));
/// assert_eq!(error.excerpt(), "  |\n1 | nmae: alice\n  | ^^^^");
/// assert_eq!(YamlSource::whole("card.yaml", "name: alice".into()).parse::<Card>().unwrap().name, "alice");
/// ```
#[derive(Debug, Clone)]
pub struct YamlSource {
    file: String,
    text: Arc<str>,
    yaml: Range<usize>,
}

impl YamlSource {
    /// A file that is YAML as a whole.
    #[must_use]
    pub fn whole(file: &str, text: Arc<str>) -> Self {
        let yaml = 0..text.len();
        Self { file: file.to_owned(), text, yaml }
    }

    /// The byte range `yaml` of a file.
    #[must_use]
    pub fn part(file: &str, text: Arc<str>, yaml: Range<usize>) -> Self {
        Self { file: file.to_owned(), text, yaml }
    }

    /// Parses the YAML into `T`.
    ///
    /// # Errors
    /// When the text is invalid YAML, or does not match `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        let yaml = self.text.get(self.yaml.clone()).unwrap_or_default();
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        serde_saphyr::from_str_with_options(yaml, options).map_err(|error| self.explain(&error))
    }

    /// A problem with the value at `location`, as given by [`serde_saphyr::Spanned`].
    #[must_use]
    pub fn problem(&self, location: Location, message: String, help: Option<String>) -> DocumentError {
        let span = self.bytes_of(location);
        let at = position_of(&self.text, span.start);
        DocumentError { file: self.file.clone(), at, message, help, span, text: Arc::clone(&self.text) }
    }

    fn bytes_of(&self, location: Location) -> Range<usize> {
        let known = location.span().byte_offset().and_then(|offset| usize::try_from(offset).ok());
        let known = known.filter(|_| location != Location::UNKNOWN);
        let start = self.yaml.start + known.or_else(|| self.offset_of(location)).unwrap_or(0);
        let start = start.min(self.yaml.end);
        let length = location.span().byte_len().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        let end = start.saturating_add(length).min(self.yaml.end);
        if self.text.get(start..end).is_some() { start..end } else { start..start }
    }

    /// The offset of a location that has only line and column, as in errors of the scanner.
    fn offset_of(&self, location: Location) -> Option<usize> {
        let line_number = usize::try_from(location.line()).ok()?.checked_sub(1)?;
        let column = usize::try_from(location.column()).ok()?.saturating_sub(1);
        let yaml = self.text.get(self.yaml.clone())?;
        let before: usize = yaml.split_inclusive('\n').take(line_number).map(str::len).sum();
        let line = yaml[before..].lines().next().unwrap_or_default();
        Some(before + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at))
    }

    fn explain(&self, error: &YamlError) -> DocumentError {
        let error = error.without_snippet();
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let (message, help) = describe(error);
        self.problem(location, message, Some(help))
    }
}

fn suggestion(word: &str, expected: &[&'static str]) -> String {
    match did_you_mean(word, expected.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            let all: Vec<String> = expected.iter().map(|word| format!("`{word}`")).collect();
            format!("use one of {}", all.join(", "))
        }
    }
}

/// A message and a hint for a YAML error.
fn describe(error: &YamlError) -> (String, String) {
    match error {
        YamlError::SerdeUnknownField { field, expected, .. } => {
            (format!("unknown key `{}`", one_line(field)), suggestion(field, expected))
        }
        YamlError::SerdeUnknownVariant { variant, expected, .. } => {
            (format!("unknown value `{}`", one_line(variant)), suggestion(variant, expected))
        }
        YamlError::SerdeMissingField { field, .. } => {
            (format!("missing key `{field}`"), format!("add `{field}: …`"))
        }
        YamlError::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().map_or_else(String::new, |key| format!(" `{}`", one_line(key)));
            (format!("duplicate key{key}"), "remove one of the two".to_owned())
        }
        YamlError::MultipleDocuments { .. } => {
            ("a second YAML document begins here".to_owned(), "remove the line `---` above it".to_owned())
        }
        YamlError::Eof { .. } => {
            ("the YAML is empty or ends too early".to_owned(), "write `key: value` lines".to_owned())
        }
        YamlError::Unexpected { expected, .. } => wrong_shape(expected),
        YamlError::InvalidScalar { ty, .. } => {
            (format!("expected {}", kind(ty)), "change the value".to_owned())
        }
        other => {
            let message = one_line(&DefaultMessageFormatter.format_message(other)).into_owned();
            (message, "correct the YAML at the marked position".to_owned())
        }
    }
}

fn wrong_shape(expected: &str) -> (String, String) {
    let (message, help) = match expected {
        "mapping start" => ("expected `key: value` pairs", "write one pair to a line"),
        "sequence start" => ("expected a list", "begin each entry with `- `"),
        "string scalar" => ("expected text", "write the text in quotes"),
        other => return (format!("expected {other}"), "correct the YAML at the marked position".to_owned()),
    };
    (message.to_owned(), help.to_owned())
}

/// Replaces Rust's names of number types, which are unknown to YAML authors.
fn kind(name: &str) -> &str {
    match name {
        "u8" | "u16" | "u32" | "u64" | "u128" => "a whole number, zero or more",
        "i8" | "i16" | "i32" | "i64" | "i128" => "a whole number",
        "floating point" => "a number",
        "boolean" => "`true` or `false`",
        other => other,
    }
}

/// A configuration text with every character of a key, a password or a header value masked by a star.
///
/// ```
/// use foreword_workspace::document::without_secrets;
/// let yaml = "providers:\n  anthropic: { api_key: s3cret }\n";
/// assert_eq!(without_secrets(yaml), "providers:\n  anthropic: { api_key: ****** }\n");
/// ```
#[must_use]
pub fn without_secrets(yaml: &str) -> String {
    mask::without_passwords(&mask::without_keys(yaml, 0..0).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Card {
        #[expect(dead_code, reason = "only parsed")]
        name: String,
        #[expect(dead_code, reason = "only parsed")]
        #[serde(default)]
        age: u8,
    }

    fn refused(yaml: &str) -> String {
        let error = YamlSource::whole("card.yaml", yaml.into()).parse::<Card>().unwrap_err();
        format!("{error}\n{}\nhelp: {}", error.excerpt(), error.help.as_deref().unwrap_or("-"))
    }

    #[test]
    fn every_problem_shows_its_line_and_a_caret() {
        insta::assert_snapshot!(
            "yaml_problems",
            [
                refused("name: alice\nagee: 3\n"),
                refused("name: alice\nage: three\n"),
                refused("name: alice\nname: bob\n"),
                refused("age: 3\n"),
                refused("name: [alice\nage: 3\n"),
                refused("name: alice\n---\nname: bob\n"),
                refused("- alice\n"),
                refused(""),
                refused("grüße: 3"),
                refused("name:\n\t- alice\n"),
                refused("age: 3\nname: {\n"),
            ]
            .join("\n\n")
        );
    }
}
