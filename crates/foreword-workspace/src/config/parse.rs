//! Turns a written configuration into a [`Config`], or into the list of everything that is wrong with it.

mod agents;
mod bounds;
mod budgets;
mod compaction;
mod export;
mod inbox;
mod logging;
mod mcp;
mod people;
mod providers;
mod retry;
mod schedules;
mod server;
mod storage;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use foreword_core::limits::TurnLimits;
use foreword_core::models::ModelCatalog;
use foreword_prompt::blueprint::builtin::{self, BuiltinError};
use foreword_prompt::blueprint::{Blueprint, BlueprintProblem};
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::file_rules::plain_path;
use foreword_prompt::layer::{Dynamic, FileSource, Source};
use foreword_prompt::plan::FileRule;
use foreword_prompt::trust::Trust;
use serde_saphyr::{Location, Spanned};

use self::tools::built_in;
use super::home_paths::HomePaths;
use super::raw::{RawAgent, RawConfig, RawLimits, RawPrompt};
use super::{Agent, Config, PromptConfig, Sections};
use crate::document::{DocumentError, YamlSource};

/// The files of the `gateway` convention and who may see them.
const DEFAULT_FILES: [(&str, Trust, bool); 7] = [
    ("SOUL.md", Trust::Familiar, false),
    ("AGENTS.md", Trust::Familiar, false),
    ("TOOLS.md", Trust::Familiar, false),
    ("IDENTITY.md", Trust::Familiar, false),
    ("USER.md", Trust::Inner, true),
    ("MEMORY.md", Trust::Full, false),
    ("HEARTBEAT.md", Trust::Full, false),
];
const DEFAULT_BUDGET: usize = 30_000;

/// Whether `path` is one of the files of the convention, which a workspace may do without.
pub(crate) fn is_default_file(path: &str) -> bool {
    DEFAULT_FILES.iter().any(|(known, ..)| *known == path)
}

/// The files of the `gateway` convention.
pub(crate) fn conventional_files() -> impl Iterator<Item = &'static str> {
    DEFAULT_FILES.iter().map(|(path, ..)| *path)
}

pub(super) fn config(file: &str, text: &str, home: &HomePaths) -> Result<Config, Vec<DocumentError>> {
    let source = YamlSource::whole(file, text.into());
    // A file of nothing but comments is a configuration of nothing but defaults.
    let empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    let mut raw: RawConfig =
        if empty { RawConfig::default() } else { source.parse().map_err(|error| vec![error])? };
    home.expand(&mut raw);
    let mut reader = Reader { source: &source, home, problems: Vec::new(), notes: Vec::new() };
    let config = reader.config(&raw);
    let Reader { mut problems, notes, .. } = reader;
    problems.sort_by(|one, other| (one.span.start, &one.message).cmp(&(other.span.start, &other.message)));
    // What holds for several agents is looked at for each of them.
    problems.dedup();
    match config {
        Some(config) if problems.is_empty() => {
            let sections = if empty { Sections::default() } else { Sections::of(&source, text) };
            let mut all: Vec<DocumentError> = Vec::new();
            for note in notes {
                if !all.contains(&note) {
                    all.push(note);
                }
            }
            Ok(Config { notes: all, sections, ..config })
        }
        _ => Err(problems),
    }
}

struct Reader<'a> {
    source: &'a YamlSource,
    home: &'a HomePaths,
    problems: Vec<DocumentError>,
    notes: Vec<DocumentError>,
}

impl Reader<'_> {
    /// Everything but the notes. Worth something only if no problem was found; `None` if not even a blueprint was.
    fn config(&mut self, raw: &RawConfig) -> Option<Config> {
        let first = self.one_agent(raw);
        self.with_agents(first, raw)
    }

    /// The same, as if there were but one agent.
    fn one_agent(&mut self, raw: &RawConfig) -> Option<Config> {
        let providers = self.providers(&raw.providers);
        self.served(raw.agent.model.as_ref(), &providers);
        let users = self.users(raw.users.as_deref());
        let tool_rules = self.tool_rules(&raw.tools);
        let (agent, models) = (self.agent(&raw.agent), self.models(raw));
        self.uncounted(raw, &agent.model, &models);
        let situations = self.situations(raw);
        Some(Config {
            agent,
            state: self.state(raw.agent.state.as_ref()),
            limits: self.limits(&raw.agent.limits),
            compaction: self.compaction(&raw.agent.compaction),
            schedules: self.schedules(&raw.schedules, &users, &providers),
            budgets: self.budgets(&raw.budgets, &users),
            users,
            server: self.server(&raw.server),
            proxy: self.proxy(&raw.proxy, &providers, &situations),
            situations,
            prompt: self.prompt(&raw.prompt),
            cache_ttl: raw.prompt.cache.ttl.unwrap_or_default(),
            tools: built_in(&tool_rules),
            tool_rules,
            confirm_time: self.confirmation(raw.tools.confirm_seconds.as_ref()),
            bash: self.bash(&raw.tools.bash),
            inbox: self.inbox(&raw.inbox),
            mcp: self.mcp(&raw.tools.mcp),
            models,
            providers,
            retry: self.retry(&raw.retry),
            store_url: self.store_url(&raw.store),
            event_days: self.event_days(&raw.events),
            export: self.export(raw.logging.otlp.as_ref(), raw.logging.metrics_file.as_ref()),
            logging: self.logging(&raw.logging),
            blueprint: Arc::new(self.blueprint(raw)?),
            file_rules: Arc::default(),
            roster: Arc::default(),
            others: BTreeMap::new(),
            notes: Vec::new(),
            sections: Sections::default(),
            home: self.home.clone(),
        })
    }

    fn refuse(&mut self, at: Location, message: String, help: impl Into<Option<String>>) {
        self.problems.push(self.source.problem(at, message, help.into()));
    }

    fn note(&mut self, at: Location, message: String, help: String) {
        self.notes.push(self.source.problem(at, message, Some(help)));
    }

    fn agent(&mut self, raw: &RawAgent) -> Agent {
        let name = self.word(raw.name.as_ref(), "agent.name", "Assistant");
        let model = self.word(raw.model.as_ref(), "agent.model", "offline/echo");
        if let Some(written) = raw.model.as_ref().filter(|model| !model.value.contains('/')) {
            let message = format!("model `{}` names no provider", written.value.escape_debug());
            self.refuse(written.defined, message, format!("write it as `provider/{}`", written.value));
        }
        Agent {
            description: self.description(raw.description.as_ref()),
            files: None,
            class: raw.class.as_deref().unwrap_or("Agent").into(),
            soul: raw.soul.as_deref().unwrap_or(&name).into(),
            active_skills: raw.active_skills.iter().map(|skill| skill.value.as_str().into()).collect(),
            name: name.into(),
            model: model.into(),
        }
    }

    fn limits(&mut self, raw: &RawLimits) -> TurnLimits {
        let default = TurnLimits::default();
        let seconds = default.time.as_secs();
        TurnLimits {
            rounds: self.within(raw.rounds.as_ref(), "agent.limits.rounds", 1..=1_000, default.rounds),
            tool_calls: self.within(
                raw.tool_calls.as_ref(),
                "agent.limits.tool_calls",
                1..=10_000,
                default.tool_calls,
            ),
            time: Duration::from_secs(self.within(
                raw.seconds.as_ref(),
                "agent.limits.seconds",
                1..=86_400,
                seconds,
            )),
        }
    }

    fn word(&mut self, written: Option<&Spanned<String>>, key: &str, default: &str) -> String {
        match written {
            Some(word) if word.value.trim().is_empty() => {
                self.refuse(
                    word.defined,
                    format!("`{key}` is empty"),
                    format!("leave it out for `{default}`"),
                );
                default.to_owned()
            }
            Some(word) => word.value.clone(),
            None => default.to_owned(),
        }
    }

    fn prompt(&mut self, raw: &RawPrompt) -> PromptConfig {
        let files = self.files(raw);
        let budget = match &raw.budget.tokens {
            Some(tokens) if tokens.value == 0 => {
                self.refuse(
                    tokens.defined,
                    "a budget of 0 tokens leaves no prompt".into(),
                    "raise it, or leave it out for 30,000".to_owned(),
                );
                DEFAULT_BUDGET
            }
            Some(tokens) => tokens.value,
            None => DEFAULT_BUDGET,
        };
        let allowed_paths = raw.allowed_paths.as_deref().unwrap_or_default();
        for path in allowed_paths {
            if !path.value.starts_with('/') || path.value.split('/').any(|part| part == "..") {
                let message = format!("`{}` is no absolute path", path.value.escape_debug());
                self.refuse(path.defined, message, "write the whole path from `/`, without `..`".to_owned());
            }
        }
        let system = &raw.system_prompt;
        let template_file = self.file(raw.template_file.as_ref(), "template");
        let identity_file = self.file(system.identity_file.as_ref(), "file");
        let custom_instructions_file = self.file(system.custom_instructions_file.as_ref(), "file");
        PromptConfig {
            files,
            template_file,
            dialect: raw.dialect.unwrap_or_default(),
            instructions: raw.instructions.clone(),
            instruction_file: raw.instruction_file.as_ref().map(|path| path.value.clone()),
            prompts_dir: raw.prompts_dir.as_ref().map(|path| path.value.clone()),
            budget,
            turn_context: raw.turn_context.unwrap_or_default(),
            identity_file: identity_file.unwrap_or_else(|| "system-prompt.md".into()),
            custom_instructions_file: custom_instructions_file.unwrap_or_else(|| "instructions.md".into()),
            allowed_paths: allowed_paths.iter().map(|path| path.value.clone()).collect(),
        }
    }

    /// The file that is written there, if one is.
    fn file(&mut self, written: Option<&Spanned<String>>, what: &str) -> Option<String> {
        let written = written?;
        self.path(&written.value, written.defined, what)
    }

    fn path(&mut self, path: &str, at: Location, what: &str) -> Option<String> {
        match plain_path(path) {
            Ok(path) => Some(path),
            Err(reason) => {
                let message = format!("{what} `{}`: {reason}", path.escape_debug());
                self.refuse(at, message, "name a file below the workspace".to_owned());
                None
            }
        }
    }

    fn files(&mut self, raw: &RawPrompt) -> Vec<FileRule> {
        let Some(written) = &raw.files else {
            let rule = |(path, trust, per_user): (&str, Trust, bool)| FileRule {
                path: path.to_owned(),
                trust,
                per_user,
            };
            return DEFAULT_FILES.into_iter().map(rule).collect();
        };
        let mut seen = BTreeSet::new();
        let mut rules = Vec::new();
        for file in written {
            let Some(path) = self.path(&file.value.path, file.defined, "file") else { continue };
            if !seen.insert((path.clone(), file.value.per_user)) {
                self.refuse(
                    file.defined,
                    format!("file `{path}` is listed twice"),
                    "keep one of them".to_owned(),
                );
            }
            rules.push(FileRule { path, trust: file.value.trust, per_user: file.value.per_user });
        }
        rules
    }

    fn blueprint(&mut self, raw: &RawConfig) -> Option<Blueprint> {
        let mut own = BTreeMap::new();
        for (name, spec) in &raw.blueprints {
            match Blueprint::from_spec(name, spec) {
                Ok(blueprint) => {
                    own.insert(name.as_str(), blueprint);
                }
                Err(problems) => self.blueprint_problems(name, &problems),
            }
        }
        let wanted = raw.agent.blueprint.as_ref();
        let name = wanted.map_or("gateway", |name| name.value.as_str());
        let at = wanted.map_or(Location::UNKNOWN, |name| name.defined);
        if raw.blueprints.contains_key(name) {
            return own.remove(name).map(|blueprint| finished(blueprint, raw));
        }
        match builtin::blueprint(name) {
            Ok(blueprint) => Some(finished(blueprint, raw)),
            Err(error @ BuiltinError::Broken { .. }) => {
                self.refuse(at, error.to_string(), None);
                None
            }
            Err(BuiltinError::Unknown { .. }) => {
                let known = raw.blueprints.keys().map(String::as_str).chain(builtin::NAMES);
                let help = match did_you_mean(name, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!(
                        "use one of {}, or describe your own in `blueprints`",
                        builtin::NAMES.join(", ")
                    ),
                };
                self.refuse(at, format!("there is no blueprint `{}`", name.escape_debug()), help);
                None
            }
        }
    }

    fn blueprint_problems(&mut self, name: &str, problems: &[BlueprintProblem]) {
        for problem in problems {
            self.refuse(
                problem.location,
                format!("blueprint `{name}`: {}", problem.message),
                problem.help.clone(),
            );
        }
    }

    fn models(&mut self, raw: &RawConfig) -> ModelCatalog {
        match ModelCatalog::builtin().override_with(raw.prices.clone()) {
            Ok(models) => models,
            Err(error) => {
                self.refuse(Location::UNKNOWN, format!("`prices`: {error}"), None);
                ModelCatalog::builtin()
            }
        }
    }
}

/// The blueprint with what the rest of the configuration says about its layers.
fn finished(mut blueprint: Blueprint, raw: &RawConfig) -> Blueprint {
    for layer in &mut blueprint.layers {
        match (&layer.source, &raw.prompt.system_prompt.identity, raw.memory.menu_tokens) {
            (Source::File(FileSource { path, .. }), Some(identity), _) if path == "{identity_file}" => {
                layer.source = Source::Text(identity.as_str().into());
            }
            (Source::Dynamic(Dynamic::MemoryMenu), _, Some(tokens)) => layer.fit.max_tokens = Some(tokens),
            _ => {}
        }
    }
    blueprint
}
