//! A template as it is sent to be stored: text, and what its author says of it.

use serde_json::Value;

use super::looked_over::as_kept;
use crate::problem::Problem;

/// The most characters of a message.
const LINE: usize = 500;

/// A template to be stored.
pub(super) struct NewWords {
    pub(super) text: String,
    pub(super) message: Option<String>,
    pub(super) expected: Option<u64>,
}

/// What somebody asks for who sends one.
pub(super) struct Wish {
    pub(super) words: NewWords,
    /// The version it is to replace, as the body says.
    pub(super) expected: Option<u64>,
}

impl Wish {
    /// What a body says. Seed 003 asks for a 400 where the template is no text, so the body is read by hand.
    pub(super) fn read(sent: &Value) -> Result<Self, Problem> {
        let Some(sent) = sent.as_object() else { return Err(not_text("the body is no object")) };
        let known = ["template", "message", "expectedVersion"];
        if let Some(unknown) = sent.keys().find(|key| !known.contains(&key.as_str())) {
            let unknown = foreword_prompt::untrusted::display_line(unknown, 80);
            return Err(not_text(&format!("a template has no field `{unknown}`")));
        }
        let Some(text) = sent.get("template") else { return Err(not_text("there is no field `template`")) };
        let Some(text) = text.as_str() else { return Err(not_text("`template` is not text")) };
        let message = match sent.get("message") {
            None | Some(Value::Null) => None,
            Some(Value::String(message)) => Some(line("message", message)?),
            Some(_) => return Err(not_text("`message` is not text")),
        };
        let expected = match sent.get("expectedVersion") {
            None | Some(Value::Null) => None,
            Some(expected) => Some(
                expected
                    .as_u64()
                    .ok_or_else(|| not_text("`expectedVersion` is no whole number from 0 on"))?,
            ),
        };
        Ok(Self { words: NewWords { text: as_kept(text), message, expected: None }, expected })
    }
}

/// Words of the field `field` that say something, and no more than a line.
pub(in crate::api) fn line(field: &str, words: &str) -> Result<String, Problem> {
    match words.chars().count() {
        0 => {
            let detail = format!("`{field}` is empty");
            Err(Problem::bad_request("bad_line", detail).help("leave it out, or say something"))
        }
        count if count > LINE => {
            let detail = format!("`{field}` has {count} characters, {LINE} are allowed");
            Err(Problem::bad_request("bad_line", detail).help("say it shorter"))
        }
        _ => Ok(words.to_owned()),
    }
}

fn not_text(detail: &str) -> Problem {
    Problem::bad_request("not_a_template", detail).help("send `{\"template\": \"…\"}`")
}
