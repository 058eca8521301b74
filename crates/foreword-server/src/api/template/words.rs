//! A template as it is sent: text, or refused with the reasons.

use std::sync::Arc;

use foreword_prompt::diagnostic::position_of;
use foreword_prompt::text::normalise_line_ends;
use foreword_workspace::document::DocumentError;
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::template_problems::{TemplateProblems, template_notes, template_problems};
use serde_json::Value;

use crate::problem::{Problem, ProblemPlace};

/// What a template that was sent is called in messages.
const NAME: &str = "template";
/// The largest template, as for a file.
const MOST_BYTES: usize = 1024 * 1024;
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
            let unknown = foreword_prompt::untrusted::single_line(unknown, 80);
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
        let text = normalise_line_ends(text.strip_prefix('\u{feff}').unwrap_or(text)).into_owned();
        Ok(Self { words: NewWords { text, message, expected: None }, expected })
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

impl NewWords {
    /// What is worth knowing about it, if it can be used.
    pub(super) fn checked(&self, snapshot: &Snapshot) -> Result<Vec<ProblemPlace>, Problem> {
        let text: Arc<str> = self.text.as_str().into();
        if let Some(at) = text.find('\0') {
            let at = position_of(&text, at);
            let place = ProblemPlace {
                message: "a NUL character is no text".to_owned(),
                line: Some(at.line),
                column: Some(at.column),
                help: None,
            };
            return Err(refused(vec![place]));
        }
        if text.len() > MOST_BYTES {
            let detail = format!("the template has {} bytes, {MOST_BYTES} are allowed", text.len());
            return Err(Problem::new(http::StatusCode::PAYLOAD_TOO_LARGE, "too_long", detail));
        }
        let dialect = snapshot.config.template_dialect();
        let TemplateProblems { errors, warnings } = template_problems(snapshot, NAME, &text, dialect);
        if !errors.is_empty() {
            return Err(refused(errors.iter().map(place).collect()));
        }
        let note = |message: String| ProblemPlace { message, line: None, column: None, help: None };
        let notes = template_notes(&snapshot.config, &text);
        Ok(warnings.iter().map(place).chain(notes.into_iter().map(note)).collect())
    }
}

fn refused(places: Vec<ProblemPlace>) -> Problem {
    let count = places.len();
    let detail = format!("the template can't be used: {count} problem{}", if count == 1 { "" } else { "s" });
    Problem::bad_request("template_refused", detail).places(places)
}

fn place(error: &DocumentError) -> ProblemPlace {
    ProblemPlace {
        message: error.message.clone(),
        line: Some(error.at.line),
        column: Some(error.at.column),
        help: error.help.clone(),
    }
}
