//! Looks a whole workspace over: every file, template, skill and workflow, and a prompt for everyone everywhere. Finds
//! what a build would stumble over later, and what is probably not meant.

mod schedules;
mod stand_ins;
mod unread_files;

use std::sync::Arc;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::bracket::{Mode, Template};
use foreword_prompt::diagnostic::{Severity, did_you_mean, position_of};
use foreword_prompt::layer::{Dialect, Dynamic, Source};
use foreword_prompt::stored::{StoredTemplate, StoredTexts};
use foreword_prompt::text::normalise_line_ends;
use foreword_prompt::trust::Trust;
use jiff::Zoned;
use serde_json::{Map, Value};

use self::stand_ins::build_with_stand_ins;
use crate::build::stored_template_name;
use crate::config::is_default_file;
use crate::document::DocumentError;
use crate::error::WorkspaceError;
use crate::memory_files::load_memory;
use crate::request::Request;
pub use crate::situation_input::ContextProblem;
use crate::situation_input::situation_problem;
use crate::snapshot::Snapshot;
use crate::workflows::loose_ends;
use crate::workspace::Workspace;

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

/// Looks `workspace` over, with what is stored for the blueprints of its agents.
#[must_use]
pub fn inspect(workspace: &Workspace, stored: &[Arc<StoredTexts>], now: &Zoned) -> Findings {
    let snapshot = workspace.snapshot();
    let mut found = Findings::default();
    found.warnings.extend(snapshot.config.notes.iter().cloned().map(Finding::Note));
    skills_and_workflows(&snapshot, &mut found);
    schedules::look_over(&snapshot, &mut found);
    memory(&snapshot, &mut found);
    for view in snapshot.of_all_agents() {
        let config = &view.config;
        let stored = stored.iter().find(|stored| stored.blueprint() == &*config.blueprint.name);
        active_skills(view, &mut found);
        template(view, stored.and_then(|stored| stored.template()), &mut found);
        named_files(view, &mut found);
        let agent = config.roster.has_company().then(|| Arc::clone(&config.agent.name));
        let request = Request { stored: stored.cloned(), agent, ..Request::at(now.clone(), [0; 16]) };
        prompts(workspace, &request, &mut found);
    }
    unread_files::look_over(workspace, &mut found);
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
    loose_ends(snapshot).into_iter().for_each(|note| found.note(note));
}

fn active_skills(snapshot: &Snapshot, found: &mut Findings) {
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
fn template(snapshot: &Snapshot, stored: Option<&StoredTemplate>, found: &mut Findings) {
    let config = &snapshot.config;
    for layer in &config.blueprint.layers {
        let Source::Template { path, dialect } = &layer.source else { continue };
        let mode = match dialect.unwrap_or(config.prompt.dialect) {
            Dialect::Bracket => Mode::Bracket,
            Dialect::BracketCompat => Mode::Compat,
            Dialect::Jinja => continue,
        };
        let (file, text) = match (path, stored) {
            (None, Some(stored)) => {
                (stored_template_name(stored.version), normalise_line_ends(&stored.text).into())
            }
            _ => {
                let Some(path) = path.as_ref().or(config.prompt.template_file.as_ref()) else { continue };
                let path = snapshot.place_of(path);
                let Ok(file) = snapshot.file(&path) else { continue };
                (path, file.text)
            }
        };
        for problem in Template::parse(Arc::clone(&text), mode).diagnostics() {
            let note = DocumentError {
                file: file.clone(),
                at: position_of(&text, problem.span.start),
                message: problem.message.clone(),
                help: problem.help.clone(),
                span: problem.span.clone(),
                text: Arc::clone(&text),
            };
            let list = match problem.severity {
                Severity::Error => &mut found.errors,
                Severity::Warning => &mut found.warnings,
            };
            // Several agents can have the same template.
            if !list.contains(&Finding::Note(note.clone())) {
                list.push(Finding::Note(note));
            }
        }
    }
}

/// Files the configuration names that are not there.
fn named_files(snapshot: &Snapshot, found: &mut Findings) {
    for (name, situation) in &snapshot.config.situations {
        let Some(path) = &situation.overlay else { continue };
        if snapshot.file(&snapshot.place_of(path)).is_err_and(|error| error.is_missing_file()) {
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
        if snapshot.file(&snapshot.place_of(&rule.path)).is_err_and(|error| error.is_missing_file()) {
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
fn prompts(workspace: &Workspace, request: &Request, found: &mut Findings) {
    let snapshot = workspace.snapshot();
    let users = snapshot.config.users.iter().map(|user| Some(user.name.clone()));
    let mut context = Map::new();
    for user in users.chain([Some("".into())]) {
        for situation in snapshot.config.situations.keys() {
            let tried = Request { user: user.clone(), situation: Some(situation.clone()), ..request.clone() };
            match build_with_stand_ins(workspace, tried, &mut context, found) {
                Err(error) => found.error(error),
                Ok(None) => {}
                Ok(Some(built)) => {
                    for warning in &built.prompt.facts.warnings {
                        if matches!(warning.code, "cut" | "moved_to_menu" | "left_out" | "fallback") {
                            let who =
                                user.as_deref().filter(|name| !name.is_empty()).unwrap_or("somebody unknown");
                            let agent = request
                                .agent
                                .as_ref()
                                .map(|name| format!(" --agent {name}"))
                                .unwrap_or_default();
                            let help =
                                format!("see `foreword explain --user {who} --situation {situation}{agent}`");
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
