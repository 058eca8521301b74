//! Checks whether a template is valid, and for probable mistakes.

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
use foreword_workspace::workspace::WorkspaceDir;

use crate::problem::{Problem, ProblemLocation};

/// The name of the template in messages.
const NAME: &str = "template";
/// The same maximum as for files.
const MAX_BYTES: usize = 1024 * 1024;

/// The result of a check.
pub(in crate::api) struct TemplateCheck {
    pub(in crate::api) dialect: Dialect,
    /// Errors.
    pub(in crate::api) problems: Vec<ProblemLocation>,
    /// Probable mistakes.
    pub(in crate::api) warnings: Vec<ProblemLocation>,
}

impl TemplateCheck {
    /// Checks a template for the agent of `view`. One that is too long is refused.
    pub(in crate::api) fn of(view: &Snapshot, dir: &WorkspaceDir, text: &Arc<str>) -> Result<Self, Problem> {
        let dialect = view.config.template_dialect();
        if text.len() > MAX_BYTES {
            let detail = format!("the template has {} bytes, but the maximum is {MAX_BYTES}", text.len());
            return Err(Problem::new(http::StatusCode::PAYLOAD_TOO_LARGE, "too_long", detail));
        }
        if let Some(at) = text.find('\0') {
            let message = "NUL characters are not allowed".to_owned();
            let problems = vec![spanned(ProblemLocation::without_position(message), text, at..at + 1)];
            return Ok(Self { dialect, problems, warnings: Vec::new() });
        }
        let TemplateProblems { errors, warnings } = template_problems(view, dir, NAME, text, dialect);
        let notes = template_notes(&view.config, text);
        Ok(Self {
            dialect,
            problems: errors.iter().map(problem_place).collect(),
            warnings: warnings
                .iter()
                .map(problem_place)
                .chain(notes.into_iter().map(ProblemLocation::without_position))
                .collect(),
        })
    }

    /// The warnings, if it is valid.
    pub(in crate::api) fn usable(self) -> Result<Vec<ProblemLocation>, Problem> {
        if self.problems.is_empty() { Ok(self.warnings) } else { Err(refused(self.problems)) }
    }
}

/// The template as it is stored: without a byte order mark, and with normalised line ends.
pub(in crate::api) fn normalized(text: &str) -> String {
    normalise_line_ends(text.strip_prefix('\u{feff}').unwrap_or(text)).into_owned()
}

/// The error of building a prompt with a draft template: a render error is a problem of the template. Only the owner
/// tries drafts.
pub(in crate::api) fn draft_problem(error: AgentError) -> Problem {
    match error {
        AgentError::Workspace(WorkspaceError::Template(error)) => refused(vec![template_place(&error)]),
        error => Problem::of_agent(error, Trust::Full),
    }
}

fn refused(places: Vec<ProblemLocation>) -> Problem {
    let count = places.len();
    let detail = format!("invalid template: {count} problem{}", if count == 1 { "" } else { "s" });
    Problem::bad_request("template_refused", detail).help("see `problems`").places(places)
}

fn problem_place(error: &DocumentError) -> ProblemLocation {
    let dir = ProblemLocation {
        help: error.help.clone(),
        ..ProblemLocation::without_position(error.message.clone())
    };
    if error.file != NAME {
        // The error is in an included file, so its position does not apply.
        return ProblemLocation { message: error.to_string(), ..dir };
    }
    let dir = ProblemLocation { line: Some(error.at.line), column: Some(error.at.column), ..dir };
    spanned(dir, &error.text, error.span.clone())
}

fn template_place(error: &TemplateError) -> ProblemLocation {
    let dir = ProblemLocation {
        line: Some(error.at.line),
        column: Some(error.at.column),
        help: error.help.clone(),
        ..ProblemLocation::without_position(error.message.clone())
    };
    match &error.span {
        _ if !error.file.starts_with("stored template ") => {
            ProblemLocation { message: error.to_string(), line: None, column: None, ..dir }
        }
        Some(span) => spanned(dir, &error.text, span.clone()),
        None => dir,
    }
}

/// Adds the position of the bytes `span` of `text`.
fn spanned(dir: ProblemLocation, text: &str, span: std::ops::Range<usize>) -> ProblemLocation {
    if span.is_empty() {
        return dir;
    }
    let (from, to) = (position_of(text, span.start), position_of(text, span.end));
    ProblemLocation {
        line: Some(from.line),
        column: Some(from.column),
        end_line: Some(to.line),
        end_column: Some(to.column),
        ..dir
    }
}
