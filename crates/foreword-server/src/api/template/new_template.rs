//! Parses a template to store.

use serde_json::Value;

use super::template_check::normalized;
use crate::problem::Problem;

const MAX_LINE_CHARS: usize = 500;

/// The former name of `expected_version`, which clients may still send.
const FORMER_NAME: &str = "expectedVersion";

pub(super) struct NewTemplateText {
    pub(super) text: String,
    pub(super) message: Option<String>,
    pub(super) expected: Option<u64>,
}

/// A request to store a template.
pub(super) struct TemplateWrite {
    pub(super) text: NewTemplateText,
    /// The version to replace.
    pub(super) expected: Option<u64>,
}

impl TemplateWrite {
    /// Parses the body by hand, since an invalid template must give 400 rather than 422.
    pub(super) fn read(sent: &Value) -> Result<Self, Problem> {
        let Some(sent) = sent.as_object() else { return Err(not_text("the body is not an object")) };
        let known = ["template", "message", "expected_version", FORMER_NAME];
        if let Some(unknown) = sent.keys().find(|key| !known.contains(&key.as_str())) {
            let unknown = foreword_prompt::untrusted::display_line(unknown, 80);
            return Err(not_text(&format!("a template has no field `{unknown}`")));
        }
        let Some(text) = sent.get("template") else {
            return Err(not_text("the field `template` is missing"));
        };
        let Some(text) = text.as_str() else { return Err(not_text("`template` is not a string")) };
        let message = match sent.get("message") {
            None | Some(Value::Null) => None,
            Some(Value::String(message)) => Some(line("message", message)?),
            Some(_) => return Err(not_text("`message` is not a string")),
        };
        let expected = match sent.get("expected_version").or_else(|| sent.get(FORMER_NAME)) {
            None | Some(Value::Null) => None,
            Some(expected) => Some(
                expected
                    .as_u64()
                    .ok_or_else(|| not_text("`expected_version` is not a non-negative integer"))?,
            ),
        };
        Ok(Self { text: NewTemplateText { text: normalized(text), message, expected: None }, expected })
    }
}

/// Checks a text of one line.
pub(in crate::api) fn line(field: &str, words: &str) -> Result<String, Problem> {
    match words.chars().count() {
        0 => {
            let detail = format!("`{field}` is empty");
            Err(Problem::bad_request("bad_line", detail).help("omit it, or write something"))
        }
        count if count > MAX_LINE_CHARS => {
            let detail = format!("`{field}` has {count} characters, but the maximum is {MAX_LINE_CHARS}");
            Err(Problem::bad_request("bad_line", detail).help("shorten it"))
        }
        _ => Ok(words.to_owned()),
    }
}

fn not_text(detail: &str) -> Problem {
    Problem::bad_request("not_a_template", detail).help("send `{\"template\": \"…\"}`")
}
