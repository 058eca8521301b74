//! Tries a prompt whose templates take values that only an occasion can bring: names each of them, and puts empty text
//! in its place, so that what is wrong behind it is found too. Guesses no value.

use std::sync::Arc;

use foreword_prompt::diagnostic::TemplateError;
use serde_json::{Map, Value};

use crate::build::{Built, SourceFailure};
use crate::document::DocumentError;
use crate::error::WorkspaceError;
use crate::request::{Request, SourcePolicy};
use crate::workspace::Workspace;

/// The most values that are stood in for while a prompt is tried.
const STAND_INS: usize = 256;
/// How the Jinja dialect begins to say what no value can mend.
const BEYOND_VALUES: [&str; 5] =
    ["syntax error", "there is no file", "can't read", "these files include each other", "unknown function"];

/// What trying a prompt gave.
pub(super) struct Tried {
    /// The prompt; `None` if a template fails over a stand-in, which says nothing about the template.
    pub(super) built: Option<Arc<Built>>,
    /// The sources that fail with any value.
    pub(super) failures: Vec<SourceFailure>,
}

/// The prompt for `request`, with empty text for each value that only an occasion can bring; `context` remembers
/// them, and `missing` is given a note about each.
pub(super) fn build_with_stand_ins(
    workspace: &Workspace,
    mut request: Request,
    context: &mut Map<String, Value>,
    mut missing: impl FnMut(DocumentError),
) -> Result<Tried, WorkspaceError> {
    request.sources = SourcePolicy::Tolerate;
    request.context = Arc::new(context.clone());
    let mut built = workspace.build(&request)?;
    for _ in 0..STAND_INS {
        let Some((note, path)) = built.sources.failures.iter().find_map(missing_value) else { break };
        let is_new = stand_in(context, &path);
        missing(note);
        if !is_new {
            break;
        }
        request.context = Arc::new(context.clone());
        built = workspace.build(&request)?;
    }
    let is_artefact = |failure: &&SourceFailure| match &failure.error {
        WorkspaceError::Template(error) => {
            missing_value(failure).is_some()
                || !context.is_empty() && !BEYOND_VALUES.iter().any(|start| error.message.starts_with(start))
        }
        _ => false,
    };
    let (artefacts, failures): (Vec<_>, Vec<_>) = built.sources.failures.iter().partition(is_artefact);
    let failures = failures.into_iter().cloned().collect();
    Ok(Tried { built: artefacts.is_empty().then_some(built), failures })
}

/// The value that a template lacks, if that is why it fails: a note about it, and its path.
fn missing_value(failure: &SourceFailure) -> Option<(DocumentError, String)> {
    let WorkspaceError::Template(error) = &failure.error else { return None };
    let path = undefined_path(error)?;
    Some((from_context(error, path), path.to_owned()))
}

/// The name a template has no value for, as it is written there; empty if the value has no name. `None` for any other
/// error, and for a name that no context can give a value.
fn undefined_path(error: &TemplateError) -> Option<&str> {
    let message = error.message.as_str();
    if message == "this value is undefined" {
        return Some("");
    }
    let rest = message.strip_prefix("unknown variable `").and_then(|rest| rest.strip_suffix('`'));
    let path = rest.or_else(|| message.strip_prefix('`')?.strip_suffix("` is undefined"))?;
    let root = path.split(['.', '[']).next().unwrap_or_default();
    (!matches!(root, "agent_name" | "agent_class")).then_some(path)
}

fn from_context(error: &TemplateError, path: &str) -> DocumentError {
    let name = if path.is_empty() { "this value".to_owned() } else { format!("`{path}`") };
    let meant = error.help.clone().filter(|help| help.starts_with("did you mean"));
    DocumentError {
        file: error.file.to_string(),
        at: error.at,
        message: format!("{name} must come from --context"),
        help: Some(
            meant.unwrap_or_else(|| "give it a value with `--context K=V` or `--context-file`".to_owned()),
        ),
        span: error.span.clone().unwrap_or_default(),
        text: Arc::clone(&error.text),
    }
}

/// Puts empty text where `path` leads, unless something is there already or it is no plain path.
fn stand_in(context: &mut Map<String, Value>, path: &str) -> bool {
    let below = path.strip_prefix("ctx.").or_else(|| path.strip_prefix("context.")).unwrap_or(path);
    let mut names: Vec<&str> = below.split('.').collect();
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let Some(last) = names.pop().filter(|last| is_name(last) && names.iter().all(is_name)) else {
        return false;
    };
    let mut map = context;
    for name in names {
        let value = map.entry(name).or_insert(Value::Null);
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        let Value::Object(inner) = value else { return false };
        map = inner;
    }
    let is_new = !map.contains_key(last);
    map.entry(last).or_insert_with(|| Value::String(String::new()));
    is_new
}
