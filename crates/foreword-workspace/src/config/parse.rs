//! Parses and validates foreword.yaml; each section file validates its keys. The result is a [`Config`] or the list of
//! all problems.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::models::ModelCatalog;
use foreword_prompt::blueprint::builtin::{self, BuiltinError};
use foreword_prompt::blueprint::{Blueprint, BlueprintProblem};
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::layer::{Dynamic, FileSource, Source};
use serde_saphyr::{Location, Spanned};

use super::home_paths::HomePaths;
use super::raw::RawConfig;
use super::tools::built_in;
use super::{Config, Sections};
use crate::document::{DocumentError, YamlSource};

/// Whether the text contains nothing but comments.
pub(crate) fn has_no_settings(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

pub(super) fn config(file: &str, text: &str, home: &HomePaths) -> Result<Config, Vec<DocumentError>> {
    let source = YamlSource::whole(file, text.into());
    // A file with nothing but comments gives the default configuration.
    let empty = has_no_settings(text);
    let mut raw: RawConfig =
        if empty { RawConfig::default() } else { source.parse().map_err(|error| vec![error])? };
    home.expand(&mut raw);
    let mut parser = ConfigParser { source: &source, home, problems: Vec::new(), notes: Vec::new() };
    let config = parser.config(&raw);
    let ConfigParser { mut problems, notes, .. } = parser;
    problems.sort_by(|one, other| (one.span.start, &one.message).cmp(&(other.span.start, &other.message)));
    // A setting that all agents share is validated once per agent.
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

/// Collects the problems and notes of a configuration while it is parsed. Each section adds its own methods.
pub(super) struct ConfigParser<'a> {
    pub(super) source: &'a YamlSource,
    home: &'a HomePaths,
    problems: Vec<DocumentError>,
    pub(super) notes: Vec<DocumentError>,
}

impl ConfigParser<'_> {
    /// The configuration without its notes. Usable only if no problem was found; `None` if the blueprint is invalid.
    fn config(&mut self, raw: &RawConfig) -> Option<Config> {
        let first = self.one_agent(raw);
        self.with_agents(first, raw)
    }

    /// The configuration of the first agent alone.
    pub(super) fn one_agent(&mut self, raw: &RawConfig) -> Option<Config> {
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
            cwd_roots: self.cwd_roots(&raw.conversations),
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

    pub(super) fn refuse(&mut self, at: Location, message: String, help: impl Into<Option<String>>) {
        self.problems.push(self.source.problem(at, message, help.into()));
    }

    pub(super) fn note(&mut self, at: Location, message: String, help: String) {
        self.notes.push(self.source.problem(at, message, Some(help)));
    }

    pub(super) fn word(&mut self, written: Option<&Spanned<String>>, key: &str, default: &str) -> String {
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

/// The blueprint with the layer settings from the rest of the configuration.
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
