//! The agents of a workspace: each gets a whole configuration, read as if it were the only one; then they are told of
//! each other.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

use foreword_core::tools::HAND_OVER;
use foreword_prompt::file_rules::plain_path;
use foreword_prompt::plan::FileRule;
use foreword_prompt::tool::{ParameterKind, ToolSpec};
use foreword_prompt::untrusted::single_line;
use serde_saphyr::{Location, Spanned};

use super::Reader;
use crate::config::agents::is_same;
use crate::config::raw::{RawConfig, RawOtherAgent};
use crate::config::words::is_user_name;
use crate::config::{Config, Member, Roster};
use crate::roots::is_reserved;

/// The longest description, in characters.
const DESCRIPTION: usize = 300;

impl Reader<'_> {
    /// `first` with all other agents.
    pub(super) fn with_agents(&mut self, first: Option<Config>, raw: &RawConfig) -> Option<Config> {
        let mut others: Vec<Config> = Vec::new();
        for (name, agent) in &raw.agents.0 {
            self.agent_name(name, raw);
            let sensitive = self.tool_names(&raw.tools.mcp, &agent.tools.sensitive);
            let files = self.folder(name, agent);
            let Some(mut config) = self.one_agent(&raw.of_agent(name, agent)) else { continue };
            config.agent.files = Some(files.into());
            config.tool_rules.sensitive.extend(sensitive);
            self.own_layers(&mut config, name, raw);
            others.push(config);
        }
        let all = introduced(first?, others);
        self.proxy_agent(&raw.proxy, &all.roster);
        Some(all)
    }

    /// What an agent is for, in a line.
    pub(super) fn description(&mut self, written: Option<&Spanned<String>>) -> Arc<str> {
        let Some(written) = written else { return "".into() };
        let chars = written.value.trim().chars().count();
        if chars > DESCRIPTION {
            let message = format!("this description has {chars} characters, {DESCRIPTION} are allowed");
            self.refuse(written.defined, message, "say in a line what the agent is for".to_owned());
        }
        single_line(written.value.trim(), DESCRIPTION).into()
    }

    fn agent_name(&mut self, name: &Spanned<String>, raw: &RawConfig) {
        let (word, at) = (name.value.as_str(), name.defined);
        if !is_user_name(word) {
            let help = "use letters, digits, `_`, `-` and `.`; it is also a folder's name".to_owned();
            self.refuse(at, format!("`{}` is no agent's name", word.escape_debug()), help);
        }
        let first = raw.agent.name.as_ref().map_or("Assistant", |name| name.value.as_str());
        if is_same(word, first) {
            let message = format!("agent `{word}` is the first one, which `agent` is about");
            self.refuse(at, message, "give it another name, or write its settings into `agent`".to_owned());
        }
        let before = raw.agents.0.iter().map(|(other, _)| other).take_while(|other| other.defined != at);
        if let Some(before) = before.into_iter().find(|other| is_same(&other.value, word)) {
            let message = format!("agent `{word}` and agent `{}` have the same name", before.value);
            self.refuse(at, message, "capitals make no difference; give it another name".to_owned());
        }
    }

    fn folder(&mut self, name: &Spanned<String>, agent: &RawOtherAgent) -> String {
        let default = format!("agents/{}", name.value);
        let Some(written) = &agent.files else { return default };
        let folder = plain_path(written.value.trim_end_matches('/'));
        let reserved = |folder: &str| folder.split('/').any(|part| is_reserved(OsStr::new(part)));
        let reason = match folder {
            Ok(folder) if !reserved(&folder) => return folder,
            Ok(_) => "it is not for the files of agents",
            Err(reason) => reason,
        };
        let message = format!("folder `{}`: {reason}", written.value.escape_debug());
        self.refuse(
            written.defined,
            message,
            format!("name a folder below the workspace, such as `{default}`"),
        );
        default
    }

    /// Layers are stored under their blueprint's name: what an agent edits must not be another agent's.
    fn own_layers(&mut self, config: &mut Config, name: &Spanned<String>, raw: &RawConfig) {
        let mut blueprint = (*config.blueprint).clone();
        blueprint.name = format!("{} ({})", blueprint.name, name.value).into();
        if raw.blueprints.contains_key(&*blueprint.name) {
            let message = format!("the layers of agent `{}` are kept as `{}`", name.value, blueprint.name);
            self.refuse(Location::UNKNOWN, message, "give the blueprint of that name another one".to_owned());
        }
        config.blueprint = Arc::new(blueprint);
    }
}

/// Tells all agents of each other.
fn introduced(mut first: Config, mut others: Vec<Config>) -> Config {
    let member = |config: &Config| {
        let of = format!(" ({})", config.agent.name);
        let blueprint = &*config.blueprint.name;
        Member {
            name: Arc::clone(&config.agent.name),
            description: Arc::clone(&config.agent.description),
            blueprint: blueprint.strip_suffix(of.as_str()).unwrap_or(blueprint).into(),
            model: Arc::clone(&config.agent.model),
            files: config.agent.files.clone(),
            prompt: config.prompt.clone(),
            layers: Arc::clone(&config.blueprint),
        }
    };
    let members = std::iter::once(&first).chain(&others).map(member).collect();
    let (roster, rules) = (Arc::new(Roster(members)), strictest(std::iter::once(&first).chain(&others)));
    for config in std::iter::once(&mut first).chain(&mut others) {
        config.roster = Arc::clone(&roster);
        config.file_rules = Arc::clone(&rules);
        for file in &mut config.prompt.files {
            if let Some(rule) = rules.iter().find(|rule| is_about(rule, file)) {
                file.trust = rule.trust;
            }
        }
        let own = Arc::clone(&config.agent.name);
        config.tools.retain(|tool| tool.name != HAND_OVER || roster.has_company());
        for tool in config.tools.iter_mut().filter(|tool| tool.name == HAND_OVER) {
            name_agents(tool, roster.members().iter().filter(|member| member.name != own));
        }
    }
    first.others = others
        .into_iter()
        .map(|config| (Arc::clone(&config.agent.name), Arc::new(config)))
        .collect::<BTreeMap<_, _>>();
    first
}

/// The rules of all agents: what one of them keeps closed, another does not open.
fn strictest<'a>(configs: impl Iterator<Item = &'a Config>) -> Arc<[FileRule]> {
    let mut rules: Vec<FileRule> = Vec::new();
    for rule in configs.flat_map(|config| &config.prompt.files) {
        match rules.iter_mut().find(|known| is_about(known, rule)) {
            Some(known) => known.trust = known.trust.stricter(rule.trust),
            None => rules.push(rule.clone()),
        }
    }
    rules.into()
}

fn is_about(one: &FileRule, other: &FileRule) -> bool {
    one.path == other.path && one.per_user == other.per_user
}

/// Says in the tool whom a conversation can be handed to, and what they are for.
fn name_agents<'a>(tool: &mut ToolSpec, others: impl Iterator<Item = &'a Member>) {
    let mut names = Vec::new();
    for member in others {
        let what = if member.description.is_empty() { "no description" } else { &*member.description };
        tool.description.push_str(&format!(" `{}`: {}.", member.name, what.trim_end_matches('.')));
        names.push(&*member.name);
    }
    if let Some(agent) = tool.parameters.iter_mut().find(|parameter| parameter.name == "agent") {
        agent.kind = ParameterKind::choice(names);
    }
}
