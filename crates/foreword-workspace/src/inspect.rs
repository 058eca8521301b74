//! Looks a whole workspace over: every file, template, skill and workflow, and a prompt for everyone everywhere. Finds
//! what a build would stumble over later, and what is probably not meant.

use std::sync::Arc;

use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::bracket::{Mode, Template};
use foreword_prompt::diagnostic::{Severity, TemplateError, did_you_mean, position_of};
use foreword_prompt::layer::{Dialect, Dynamic, Source};
use foreword_prompt::trust::Trust;
use jiff::Zoned;
use serde_json::{Map, Value};

use crate::build::Built;
use crate::config::is_default_file;
use crate::document::DocumentError;
use crate::error::WorkspaceError;
use crate::memory_files::{MemoryStore, load_memory};
use crate::request::Request;
pub use crate::situation_input::ContextProblem;
use crate::situation_input::situation_problem;
use crate::snapshot::Snapshot;
use crate::workspace::Workspace;

/// The most values that are stood in for while a prompt is tried.
const STAND_INS: usize = 256;
/// How the Jinja dialect begins to say what no value can mend.
const BEYOND_VALUES: [&str; 5] =
    ["syntax error", "there is no file", "can't read", "these files include each other", "unknown function"];

/// Something `foreword check` has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Something that is refused, or would be.
    Error(WorkspaceError),
    /// Something at a place in a text.
    Note(DocumentError),
    /// Something without a place.
    Remark {
        /// A stable name for it.
        code: &'static str,
        /// What it is.
        message: String,
        /// What to do.
        help: Option<String>,
    },
}

/// Everything that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// What is refused.
    pub errors: Vec<Finding>,
    /// What works, but is probably not meant.
    pub warnings: Vec<Finding>,
}

impl Findings {
    fn error(&mut self, error: WorkspaceError) {
        let finding = Finding::Error(error);
        // The same file can spoil many prompts; it is one problem.
        if !self.errors.contains(&finding) {
            self.errors.push(finding);
        }
    }

    fn note(&mut self, note: DocumentError) {
        // `ctx.user` and then `ctx.user.name` in the same place: the longer one says it all.
        let is_same_place = |other: &Finding| match other {
            Finding::Note(other) => other.file == note.file && other.span == note.span,
            _ => false,
        };
        self.warnings.retain(|other| !is_same_place(other));
        self.warnings.push(Finding::Note(note));
    }

    fn remark(&mut self, code: &'static str, message: String, help: Option<String>) {
        let finding = Finding::Remark { code, message, help };
        if !self.warnings.contains(&finding) {
            self.warnings.push(finding);
        }
    }
}

/// Looks `workspace` over.
#[must_use]
pub fn inspect(workspace: &Workspace, now: &Zoned) -> Findings {
    let snapshot = workspace.snapshot();
    let mut found = Findings::default();
    found.warnings.extend(snapshot.config.notes.iter().cloned().map(Finding::Note));
    skills_and_workflows(&snapshot, &mut found);
    memory(&snapshot, &mut found);
    template(&snapshot, &mut found);
    named_files(&snapshot, &mut found);
    prompts(workspace, now, &mut found);
    found
}

/// The first thing in `context` that the situation layer of `blueprint` would pass over, if it has such a layer.
///
/// ```
/// use foreword_prompt::blueprint::builtin;
/// use foreword_workspace::inspect::context_problem;
/// let blueprint = builtin::blueprint("sovereign").unwrap();
/// let context = serde_json::json!({ "inbox": [{ "sender": "0xA", "body": "x" }] });
/// let problem = context_problem(&blueprint, context.as_object().unwrap()).unwrap();
/// assert_eq!(problem.message, "`inbox[0]` has no `text`");
/// ```
#[must_use]
pub fn context_problem(blueprint: &Blueprint, context: &Map<String, Value>) -> Option<ContextProblem> {
    let reads_it = blueprint.layers.iter().any(|layer| layer.source == Source::Dynamic(Dynamic::Situation));
    reads_it.then(|| situation_problem(context)).flatten()
}

fn skills_and_workflows(snapshot: &Snapshot, found: &mut Findings) {
    let own: Vec<_> = snapshot.config.users.iter().map(|user| snapshot.user_skills(&user.name)).collect();
    let skills = own.iter().flat_map(|skills| &skills.problems).chain(&snapshot.skills().problems);
    for problem in skills.chain(&snapshot.workflows().problems) {
        found.error(problem.clone());
    }
    let known = &snapshot.skills().items;
    for wanted in &snapshot.config.agent.active_skills {
        if !known.iter().any(|skill| skill.name == **wanted) {
            let near = did_you_mean(wanted, known.iter().map(|skill| skill.name.as_str()));
            let help = near.map_or_else(
                || format!("create skills/{wanted}/SKILL.md"),
                |near| format!("did you mean `{near}`?"),
            );
            found.remark(
                "unknown_skill",
                format!("`agent.active_skills` names `{wanted}`, but there is no such skill"),
                Some(help),
            );
        }
    }
}

fn memory(snapshot: &Snapshot, found: &mut Findings) {
    let files = snapshot.files();
    for problem in load_memory(&files.root, &files.cache, &MemoryStore::ALL).problems {
        found.error(problem);
    }
}

/// The bracket template's problems at their places; a Jinja template is tried by building.
fn template(snapshot: &Snapshot, found: &mut Findings) {
    let config = &snapshot.config;
    for layer in &config.blueprint.layers {
        let Source::Template { path, dialect } = &layer.source else { continue };
        let mode = match dialect.unwrap_or(config.prompt.dialect) {
            Dialect::Bracket => Mode::Bracket,
            Dialect::BracketCompat => Mode::Compat,
            Dialect::Jinja => continue,
        };
        let Some(path) = path.as_ref().or(config.prompt.template_file.as_ref()) else { continue };
        let Ok(file) = snapshot.file(path) else { continue };
        for problem in Template::parse(file.text.clone(), mode).diagnostics() {
            let note = DocumentError {
                file: path.clone(),
                at: position_of(&file.text, problem.span.start),
                message: problem.message.clone(),
                help: problem.help.clone(),
                span: problem.span.clone(),
                text: file.text.clone(),
            };
            match problem.severity {
                Severity::Error => found.errors.push(Finding::Note(note)),
                Severity::Warning => found.warnings.push(Finding::Note(note)),
            }
        }
    }
}

/// Files the configuration names that are not there.
fn named_files(snapshot: &Snapshot, found: &mut Findings) {
    for (name, situation) in &snapshot.config.situations {
        let Some(path) = &situation.overlay else { continue };
        if snapshot.file(path).is_err_and(|error| error.is_missing_file()) {
            let message = format!("situation `{name}` has the overlay `{path}`, but there is no such file");
            found.remark(
                "missing_overlay",
                message,
                Some(format!("create `{path}`, or remove `prompt_overlay`")),
            );
        }
    }
    for rule in &snapshot.config.prompt.files {
        // The files of the convention are there or not, as one likes; a file of one's own was meant to be.
        if rule.per_user || is_default_file(&rule.path) {
            continue;
        }
        if snapshot.file(&rule.path).is_err_and(|error| error.is_missing_file()) {
            let message = format!("`prompt.files` lists `{}`, but there is no such file", rule.path);
            let help = format!("create `{}`, or remove it from `prompt.files`", rule.path);
            found.remark("missing_file", message, Some(help));
        }
    }
    if !snapshot.config.users.iter().any(|user| user.trust.permits(Trust::Full)) {
        let help = "give one of `users` the trust `full`".to_owned();
        found.remark(
            "no_owner",
            "nobody is trusted in full, so nobody can see everything".to_owned(),
            Some(help),
        );
    }
    model(snapshot, found);
}

fn model(snapshot: &Snapshot, found: &mut Findings) {
    let (models, model) = (&snapshot.config.models, &snapshot.config.agent.model);
    if models.find(model).is_some() {
        return;
    }
    let message = format!("nothing is known about the model `{model}`: its window and prices are unknown");
    let near = did_you_mean(model, models.iter().map(|known| known.id.as_str()));
    let help = near.map_or_else(
        || "add it to `prices`".to_owned(),
        |near| format!("did you mean `{near}`? If not, add it to `prices`"),
    );
    found.remark("unknown_model", message, Some(help));
}

/// A prompt for everyone everywhere, the unknown included.
fn prompts(workspace: &Workspace, now: &Zoned, found: &mut Findings) {
    let snapshot = workspace.snapshot();
    let users = snapshot.config.users.iter().map(|user| Some(user.name.clone()));
    let mut context = Map::new();
    for user in users.chain([Some("".into())]) {
        for situation in snapshot.config.situations.keys() {
            let request = Request {
                user: user.clone(),
                situation: Some(situation.clone()),
                ..Request::at(now.clone(), [0; 16])
            };
            match build_with_stand_ins(workspace, request, &mut context, found) {
                Err(error) => found.error(error),
                Ok(None) => {}
                Ok(Some(built)) => {
                    for warning in &built.prompt.facts.warnings {
                        if matches!(warning.code, "cut" | "moved_to_menu" | "left_out" | "fallback") {
                            let who =
                                user.as_deref().filter(|name| !name.is_empty()).unwrap_or("somebody unknown");
                            let help = format!("see `foreword explain --user {who} --situation {situation}`");
                            found.remark(
                                warning.code,
                                warning.message.clone(),
                                Some(help).filter(|_| warning.code != "fallback"),
                            );
                        }
                    }
                }
            }
        }
    }
}

/// The prompt for `request`, with nothing said for each value that only an occasion can bring; `context` remembers
/// them. `None` if a template goes wrong over a stand-in, which says nothing about the template.
fn build_with_stand_ins(
    workspace: &Workspace,
    mut request: Request,
    context: &mut Map<String, Value>,
    found: &mut Findings,
) -> Result<Option<Arc<Built>>, WorkspaceError> {
    for _ in 0..STAND_INS {
        request.context = Arc::new(context.clone());
        let error = match workspace.build(&request) {
            Ok(built) => return Ok(Some(built)),
            Err(WorkspaceError::Template(error)) => error,
            Err(other) => return Err(other),
        };
        let Some(path) = undefined_path(&error) else {
            let is_artefact =
                !context.is_empty() && !BEYOND_VALUES.iter().any(|start| error.message.starts_with(start));
            return if is_artefact { Ok(None) } else { Err(WorkspaceError::Template(error)) };
        };
        found.note(from_context(&error, path));
        if !stand_in(context, path) {
            return Ok(None);
        }
    }
    Ok(None)
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
