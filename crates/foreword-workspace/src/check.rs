//! Checks a whole workspace: every file, template, skill and workflow, and a prompt for each user in each situation.
//! Finds errors before a build does, and settings that are probably unintended.

pub(crate) mod placeholder_values;
mod schedules;
mod unread_files;

use std::sync::Arc;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::last_good::LastGood;
use foreword_prompt::layer::{Dialect, Dynamic, Source};
use foreword_prompt::stored::{StoredTemplate, StoredTexts};
use foreword_prompt::text::normalise_line_ends;
use foreword_prompt::trust::Trust;
use jiff::Zoned;
use serde_json::{Map, Value};

use self::placeholder_values::{TrialBuild, build_with_placeholders};
use crate::build::{SourceFailure, stored_template_name};
use crate::config::{Config, is_default_file};
use crate::document::DocumentError;
use crate::error::WorkspaceError;
use crate::memory_files::load_memory;
use crate::request::Request;
pub use crate::situation_input::ContextProblem;
use crate::situation_input::situation_problem;
use crate::snapshot::Snapshot;
use crate::speaker::Speaker;
use crate::template_problems::{TemplateProblems, template_problems};
use crate::workflows::missing_references;
use crate::workspace::{Workspace, WorkspaceDir};

/// A finding of `foreword check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// An error.
    Error(WorkspaceError),
    /// A warning with a position in a text.
    Note(DocumentError),
    /// A warning without a position.
    Remark {
        /// A stable code.
        code: &'static str,
        /// The message.
        message: String,
        /// What to do.
        help: Option<String>,
    },
}

/// All findings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// What is refused.
    pub errors: Vec<Finding>,
    /// Things that work, but are probably unintended.
    pub warnings: Vec<Finding>,
}

impl Findings {
    fn error(&mut self, error: WorkspaceError) {
        let finding = Finding::Error(error);
        // One file can break many prompts, but is one problem.
        if !self.errors.contains(&finding) {
            self.errors.push(finding);
        }
    }

    fn note(&mut self, note: DocumentError) {
        // `ctx.user` and `ctx.user.name` at the same position: the longer name is enough.
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

/// Checks `workspace`, with the stored texts of its agents' blueprints.
#[must_use]
pub fn check(workspace: &Workspace, stored: &[Arc<StoredTexts>], now: &Zoned) -> Findings {
    let snapshot = workspace.snapshot();
    let mut found = Findings::default();
    found.warnings.extend(snapshot.config.notes.iter().cloned().map(Finding::Note));
    skills_and_workflows(&snapshot, &mut found);
    schedules::check(workspace, &snapshot, &mut found);
    memory(&snapshot, &mut found);
    for view in snapshot.of_all_agents() {
        let config = &view.config;
        let stored = stored.iter().find(|stored| stored.blueprint() == &*config.blueprint.name);
        active_skills(view, &mut found);
        template(view, workspace.dir(), stored.and_then(|stored| stored.template()), &mut found);
        named_files(view, &mut found);
        model(view, now, &mut found);
        let agent = config.roster.has_several().then(|| Arc::clone(&config.agent.name));
        let request = Request {
            speaker: Speaker { agent, ..Speaker::default() },
            stored: stored.cloned(),
            ..Request::at(now.clone(), [0; 16])
        };
        prompts(workspace, &request, &mut found);
    }
    unread_files::check(workspace, &mut found);
    found
}

/// The first value in `context` that the situation layer of `blueprint` would ignore, if it has such a layer.
///
/// ```
/// use foreword_prompt::blueprint::builtin;
/// use foreword_workspace::check::context_problem;
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
    missing_references(snapshot).into_iter().for_each(|note| found.note(note));
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

/// Checks the templates that prompts are built from. Jinja templates are also tested by building prompts.
fn template(view: &Snapshot, dir: &WorkspaceDir, stored: Option<&StoredTemplate>, found: &mut Findings) {
    let config = &view.config;
    for layer in &config.blueprint.layers {
        let Source::Template { path, dialect } = &layer.source else { continue };
        let dialect = dialect.unwrap_or(config.prompt.dialect);
        if dialect == Dialect::Jinja {
            continue;
        }
        let (file, text) = match (path, stored) {
            (None, Some(stored)) => {
                (stored_template_name(stored.version), normalise_line_ends(&stored.text).into())
            }
            _ => {
                let Some(path) = path.as_ref().or(config.prompt.template_file.as_ref()) else { continue };
                let path = view.place_of(path);
                let Ok(file) = view.file(&path) else { continue };
                (path, file.text)
            }
        };
        let TemplateProblems { errors, warnings } = template_problems(view, dir, &file, &text, dialect);
        for (list, notes) in [(&mut found.errors, errors), (&mut found.warnings, warnings)] {
            for note in notes.into_iter().map(Finding::Note) {
                // Several agents may share a template.
                if !list.contains(&note) {
                    list.push(note);
                }
            }
        }
    }
}

/// Configured files that do not exist.
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
        // The conventional files are optional; a configured file is expected to exist.
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
            "no user has full trust, so no prompt contains everything".to_owned(),
            Some(help),
        );
    }
}

fn model(snapshot: &Snapshot, now: &Zoned, found: &mut Findings) {
    let (models, model) = (&snapshot.config.models, &snapshot.config.agent.model);
    if let Some(facts) = models.resolve(model) {
        for warning in facts.warnings(now.date()) {
            found.remark(warning.code, warning.message, Some(warning.help.to_owned()));
        }
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

/// Builds a prompt for each user, and an unknown one, in each situation.
fn prompts(workspace: &Workspace, request: &Request, found: &mut Findings) {
    let mut context = Map::new();
    for (user, situation) in occasions(&workspace.snapshot().config) {
        let tried = Request {
            speaker: Speaker {
                user: Some(user.clone()),
                situation: Some(situation.clone()),
                ..request.speaker.clone()
            },
            ..request.clone()
        };
        let tried = build_with_placeholders(workspace, tried, &mut context, |note| found.note(note));
        let TrialBuild { built, failures } = match tried {
            Ok(tried) => tried,
            Err(error) => {
                found.error(error);
                continue;
            }
        };
        failures.into_iter().for_each(|failure| found.error(failure.error));
        let Some(built) = built else { continue };
        for warning in &built.prompt.facts.warnings {
            if matches!(warning.code, "cut" | "moved_to_menu" | "left_out" | "fallback") {
                let who = if user.is_empty() { "somebody unknown" } else { &*user };
                let agent =
                    request.speaker.agent.as_ref().map(|name| format!(" --agent {name}")).unwrap_or_default();
                let help = format!("see `foreword explain --user {who} --situation {situation}{agent}`");
                found.remark(
                    warning.code,
                    warning.message.clone(),
                    Some(help).filter(|_| warning.code != "fallback"),
                );
            }
        }
    }
}

/// Each user and an unknown one, in each situation.
fn occasions(config: &Config) -> Vec<(Arc<str>, Arc<str>)> {
    let users = config.users.iter().map(|user| Arc::clone(&user.name)).chain(["".into()]);
    users
        .flat_map(|user| config.situations.keys().map(move |situation| (user.clone(), situation.clone())))
        .collect()
}

/// The sources that cannot be read or rendered now, for any agent, user and situation, without duplicates. `last_good`
/// determines which of them can be replaced.
#[must_use]
pub fn failing_sources(
    workspace: &Workspace,
    stored: &[Arc<StoredTexts>],
    last_good: Option<&Arc<LastGood>>,
    now: &Zoned,
) -> Vec<SourceFailure> {
    let snapshot = workspace.snapshot();
    let mut failing: Vec<SourceFailure> = Vec::new();
    for view in snapshot.of_all_agents() {
        let config = &view.config;
        let stored = stored.iter().find(|stored| stored.blueprint() == &*config.blueprint.name);
        let agent = config.roster.has_several().then(|| Arc::clone(&config.agent.name));
        let mut context = Map::new();
        for (user, situation) in occasions(&snapshot.config) {
            let request = Request {
                speaker: Speaker {
                    user: Some(user),
                    situation: Some(situation),
                    agent: agent.clone(),
                    ..Speaker::default()
                },
                stored: stored.cloned(),
                last_good: last_good.cloned(),
                ..Request::at(now.clone(), [0; 16])
            };
            // A prompt that fails as a whole exceeds its budget, which is not caused by a single source.
            let Ok(tried) = build_with_placeholders(workspace, request, &mut context, |_| {}) else {
                continue;
            };
            let unreadable = tried.built.iter().flat_map(|built| built.sources.unreadable.iter().cloned());
            for failure in tried.failures.into_iter().chain(unreadable) {
                if failing.iter().all(|known| known.source != failure.source) {
                    failing.push(failure);
                }
            }
        }
    }
    failing
}
