//! Test-builds a prompt whose templates use values known only at request time. Reports each such value and replaces it
//! by empty text, so that later errors are found too.

use std::sync::Arc;

use foreword_prompt::diagnostic::TemplateError;
use serde_json::{Map, Value};

use crate::build::{Built, SourceFailure};
use crate::document::DocumentError;
use crate::error::WorkspaceError;
use crate::request::{Request, SourcePolicy};
use crate::workspace::Workspace;

/// The maximum number of placeholders per prompt.
const MAX_PLACEHOLDERS: usize = 256;
/// Prefixes of Jinja errors that no value can fix.
const UNFIXABLE_ERRORS: [&str; 5] =
    ["syntax error", "there is no file", "can't read", "these files include each other", "unknown function"];

/// The result of a test build.
pub(super) struct TrialBuild {
    /// The prompt; `None` if a template fails because of a placeholder, which is no error of the template.
    pub(super) built: Option<Arc<Built>>,
    /// The sources that fail regardless of the values.
    pub(super) failures: Vec<SourceFailure>,
}

/// Builds the prompt for `request`, with empty text for each value known only at request time. Adds the values to
/// `context` and a note about each to `missing`.
pub(super) fn build_with_placeholders(
    workspace: &Workspace,
    mut request: Request,
    context: &mut Map<String, Value>,
    mut missing: impl FnMut(DocumentError),
) -> Result<TrialBuild, WorkspaceError> {
    request.sources = SourcePolicy::Tolerate;
    request.context = Arc::new(context.clone().into());
    let mut built = workspace.build(&request)?;
    for _ in 0..MAX_PLACEHOLDERS {
        let Some((note, path)) = built.sources.failures.iter().find_map(missing_value) else { break };
        let is_new = insert_placeholder(context, &path);
        missing(note);
        if !is_new {
            break;
        }
        request.context = Arc::new(context.clone().into());
        built = workspace.build(&request)?;
    }
    let is_artefact = |failure: &&SourceFailure| match &failure.error {
        WorkspaceError::Template(error) => {
            missing_value(failure).is_some()
                || !context.is_empty()
                    && !UNFIXABLE_ERRORS.iter().any(|start| error.message.starts_with(start))
        }
        _ => false,
    };
    let (artefacts, failures): (Vec<_>, Vec<_>) = built.sources.failures.iter().partition(is_artefact);
    let failures = failures.into_iter().cloned().collect();
    Ok(TrialBuild { built: artefacts.is_empty().then_some(built), failures })
}

/// A note about each value of a template that is known only at request time. `render` returns the error of a rendering
/// with this context.
pub(crate) fn request_time_values(
    render: impl Fn(&Map<String, Value>) -> Option<TemplateError>,
) -> Vec<DocumentError> {
    let (mut context, mut notes) = (Map::new(), Vec::new());
    for _ in 0..MAX_PLACEHOLDERS {
        let Some(error) = render(&context) else { break };
        let Some(path) = undefined_path(&error) else { break };
        notes.push(from_context(&error, path));
        if !insert_placeholder(&mut context, path) {
            break;
        }
    }
    notes
}

/// The missing value that makes a template fail, if that is the reason: a note about it, and its path.
fn missing_value(failure: &SourceFailure) -> Option<(DocumentError, String)> {
    let WorkspaceError::Template(error) = &failure.error else { return None };
    let path = undefined_path(error)?;
    Some((from_context(error, path), path.to_owned()))
}

/// The name of the undefined value as written in the template; empty if the value has no name. `None` for any other
/// error, and for a name that a context cannot define.
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

/// Inserts empty text at `path`, unless a value exists or the path is not a plain one.
fn insert_placeholder(context: &mut Map<String, Value>, path: &str) -> bool {
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
