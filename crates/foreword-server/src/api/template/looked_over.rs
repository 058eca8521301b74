//! What can be said of a template before anything is made of it: whether it can be used, and what is probably not meant.

use std::sync::Arc;

use foreword_agent::error::AgentError;
use foreword_prompt::diagnostic::{TemplateError, position_of};
use foreword_prompt::layer::Dialect;
use foreword_prompt::text::normalise_line_ends;
use foreword_prompt::trust::Trust;
use foreword_workspace::document::DocumentError;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::template_problems::{TemplateProblems, template_notes, template_problems};
use foreword_workspace::workspace::Place;

use crate::problem::{Problem, ProblemPlace};

/// What a template that was sent is called in messages.
const NAME: &str = "template";
/// The largest template, as for a file.
const MOST_BYTES: usize = 1024 * 1024;

/// A template that was looked over.
pub(in crate::api) struct LookedOver {
    pub(in crate::api) dialect: Dialect,
    /// What keeps it from being used.
    pub(in crate::api) problems: Vec<ProblemPlace>,
    /// What works, but is probably not meant.
    pub(in crate::api) warnings: Vec<ProblemPlace>,
}

impl LookedOver {
    /// Looks at a template as the agent of `view` would read it. One that is too long is not looked at.
    pub(in crate::api) fn of(view: &Snapshot, place: &Place, text: &Arc<str>) -> Result<Self, Problem> {
        let dialect = view.config.template_dialect();
        if text.len() > MOST_BYTES {
            let detail = format!("the template has {} bytes, {MOST_BYTES} are allowed", text.len());
            return Err(Problem::new(http::StatusCode::PAYLOAD_TOO_LARGE, "too_long", detail));
        }
        if let Some(at) = text.find('\0') {
            let message = "a NUL character is no text".to_owned();
            let problems = vec![spanned(ProblemPlace::anywhere(message), text, at..at + 1)];
            return Ok(Self { dialect, problems, warnings: Vec::new() });
        }
        let TemplateProblems { errors, warnings } = template_problems(view, place, NAME, text, dialect);
        let notes = template_notes(&view.config, text);
        Ok(Self {
            dialect,
            problems: errors.iter().map(problem_place).collect(),
            warnings: warnings
                .iter()
                .map(problem_place)
                .chain(notes.into_iter().map(ProblemPlace::anywhere))
                .collect(),
        })
    }

    /// The warnings, if it can be used.
    pub(in crate::api) fn usable(self) -> Result<Vec<ProblemPlace>, Problem> {
        if self.problems.is_empty() { Ok(self.warnings) } else { Err(refused(self.problems)) }
    }
}

/// A template as it is kept: without a mark at its head, and with the line ends of files.
pub(in crate::api) fn as_kept(text: &str) -> String {
    normalise_line_ends(text.strip_prefix('\u{feff}').unwrap_or(text)).into_owned()
}

/// Why no prompt could be made with a template that was only tried out: what fails when it is filled in is the template's fault
/// like what does not parse.
/// Only the owner tries one out.
pub(in crate::api) fn tried_by_owner(error: AgentError) -> Problem {
    match error {
        AgentError::Workspace(WorkspaceError::Template(error)) => refused(vec![template_place(&error)]),
        error => Problem::told(error, Trust::Full),
    }
}

fn refused(places: Vec<ProblemPlace>) -> Problem {
    let count = places.len();
    let detail = format!("the template can't be used: {count} problem{}", if count == 1 { "" } else { "s" });
    Problem::bad_request("template_refused", detail).help("`problems` says where and why").places(places)
}

fn problem_place(error: &DocumentError) -> ProblemPlace {
    let place = ProblemPlace { help: error.help.clone(), ..ProblemPlace::anywhere(error.message.clone()) };
    if error.file != NAME {
        // It is in a file that the template includes: a place in that one is none in this.
        return ProblemPlace { message: error.to_string(), ..place };
    }
    let place = ProblemPlace { line: Some(error.at.line), column: Some(error.at.column), ..place };
    spanned(place, &error.text, error.span.clone())
}

fn template_place(error: &TemplateError) -> ProblemPlace {
    let place = ProblemPlace {
        line: Some(error.at.line),
        column: Some(error.at.column),
        help: error.help.clone(),
        ..ProblemPlace::anywhere(error.message.clone())
    };
    match &error.span {
        _ if !error.file.starts_with("stored template ") => {
            ProblemPlace { message: error.to_string(), line: None, column: None, ..place }
        }
        Some(span) => spanned(place, &error.text, span.clone()),
        None => place,
    }
}

/// The same with where the bytes `span` of `text` begin and end, if it has any.
fn spanned(place: ProblemPlace, text: &str, span: std::ops::Range<usize>) -> ProblemPlace {
    if span.is_empty() {
        return place;
    }
    let (from, to) = (position_of(text, span.start), position_of(text, span.end));
    ProblemPlace {
        line: Some(from.line),
        column: Some(from.column),
        end_line: Some(to.line),
        end_column: Some(to.column),
        ..place
    }
}
