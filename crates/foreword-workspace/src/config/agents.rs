//! Section `agents`: the agents besides the first. Each agent gets a complete configuration, parsed as if it were the
//! only one; then the agents are listed to each other.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

use foreword_core::tools::HAND_OVER;
use foreword_prompt::file_rules::plain_path;
use foreword_prompt::plan::FileRule;
use foreword_prompt::tool::{ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::parse::ConfigParser;
use super::people::is_user_name;
use super::raw::{RawAgent, RawConfig, RawLimits, RawPrompt, RawSystemPrompt, RawTools};
use super::roster::is_same;
use super::{AgentEntry, Config, Roster};
use crate::roots::is_reserved;

/// Another agent of the workspace. Missing keys are taken from `agent`, `prompt` and `tools`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawOtherAgent {
    /// Its purpose in one line. Other agents read it when they choose an agent to hand a conversation over to.
    #[schemars(with = "Option<String>")]
    pub description: Option<Spanned<String>>,
    /// The kind of agent, for templates (`agent_class`).
    pub class: Option<String>,
    /// The blueprint of its prompt. The agent's mutable layers are its own, even if another agent has the same
    /// blueprint.
    #[schemars(with = "Option<String>")]
    pub blueprint: Option<Spanned<String>>,
    /// The model, as `provider/name`.
    #[schemars(with = "Option<String>")]
    pub model: Option<Spanned<String>>,
    /// Blueprint `sovereign`: the short name the agent uses for itself. Default: its name.
    pub soul: Option<String>,
    /// Blueprint `sovereign`: skills whose instructions are always in the prompt.
    #[schemars(with = "Option<Vec<String>>")]
    pub active_skills: Option<Vec<Spanned<String>>>,
    /// The limits of one turn.
    pub limits: RawLimits,
    /// Its prompt settings: the same keys as `prompt`. The trust a file needs can be raised here, never lowered.
    pub prompt: RawPrompt,
    /// Its tool rules, in addition to `tools`.
    pub tools: RawAgentTools,
    /// Its own folder. Prompt files are read from this folder if they exist there. Default: `agents/<name>`.
    #[schemars(with = "Option<String>")]
    pub files: Option<Spanned<String>>,
}

/// The tools of one agent.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawAgentTools {
    /// Tools disabled for this agent, in addition to those disabled for all; named as in `tools`, MCP tools included.
    #[schemars(with = "Vec<String>")]
    pub disabled: Vec<Spanned<String>>,
    /// The minimum trust of a tool, by name. If `tools` has a rule too, the stricter one applies.
    #[schemars(with = "BTreeMap<String, Trust>")]
    pub trust: BTreeMap<String, Spanned<Trust>>,
    /// Tools that need the owner's confirmation in a turn that has read text from outside, in addition to those in
    /// `tools`.
    #[schemars(with = "Vec<String>")]
    pub sensitive: Vec<Spanned<String>>,
}

impl RawConfig {
    /// The configuration with `agent`, called `name`, as its only agent.
    pub(in crate::config) fn of_agent(&self, name: &Spanned<String>, agent: &RawOtherAgent) -> Self {
        let first = &self.agent;
        Self {
            agent: RawAgent {
                name: Some(name.clone()),
                description: agent.description.clone(),
                class: agent.class.clone().or_else(|| first.class.clone()),
                blueprint: agent.blueprint.clone().or_else(|| first.blueprint.clone()),
                model: agent.model.clone().or_else(|| first.model.clone()),
                soul: agent.soul.clone(),
                active_skills: agent.active_skills.clone().unwrap_or_else(|| first.active_skills.clone()),
                limits: limits(&agent.limits, &first.limits),
                state: first.state.clone(),
                compaction: first.compaction.clone(),
            },
            prompt: prompt(&agent.prompt, &self.prompt),
            tools: tools(&agent.tools, &self.tools),
            ..self.clone()
        }
    }
}

fn limits(own: &RawLimits, first: &RawLimits) -> RawLimits {
    RawLimits {
        rounds: own.rounds.clone().or_else(|| first.rounds.clone()),
        tool_calls: own.tool_calls.clone().or_else(|| first.tool_calls.clone()),
        seconds: own.seconds.clone().or_else(|| first.seconds.clone()),
    }
}

fn prompt(own: &RawPrompt, first: &RawPrompt) -> RawPrompt {
    // Both instruction settings come from the same agent, so that the first agent's inline text does not override this
    // agent's file.
    let instructed = if own.instructions.is_some() || own.instruction_file.is_some() { own } else { first };
    let cache = &own.cache;
    RawPrompt {
        files: own.files.clone().or_else(|| first.files.clone()),
        template_file: own.template_file.clone().or_else(|| first.template_file.clone()),
        dialect: own.dialect.or(first.dialect),
        instructions: instructed.instructions.clone(),
        instruction_file: instructed.instruction_file.clone(),
        prompts_dir: own.prompts_dir.clone().or_else(|| first.prompts_dir.clone()),
        budget: if own.budget.tokens.is_some() { own.budget.clone() } else { first.budget.clone() },
        cache: if cache.ttl.is_some() { cache.clone() } else { first.cache.clone() },
        turn_context: own.turn_context.or(first.turn_context),
        system_prompt: system_prompt(&own.system_prompt, &first.system_prompt),
        allowed_paths: own.allowed_paths.clone().or_else(|| first.allowed_paths.clone()),
    }
}

fn system_prompt(own: &RawSystemPrompt, first: &RawSystemPrompt) -> RawSystemPrompt {
    let identified = if own.identity.is_some() || own.identity_file.is_some() { own } else { first };
    let custom = own.custom_instructions_file.as_ref().or(first.custom_instructions_file.as_ref());
    RawSystemPrompt {
        identity: identified.identity.clone(),
        identity_file: identified.identity_file.clone(),
        custom_instructions_file: custom.cloned(),
    }
}

/// Adds an agent's tool rules to the common ones. The stricter rule applies.
fn tools(own: &RawAgentTools, all: &RawTools) -> RawTools {
    let mut tools = all.clone();
    tools.disabled.extend(own.disabled.iter().cloned());
    for (name, trust) in &own.trust {
        let for_all = tools.trust.get(name).map(|known| known.value);
        if for_all.is_none_or(|known| known.stricter(trust.value) != known) {
            tools.trust.insert(name.clone(), trust.clone());
        }
    }
    tools
}

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 300;

impl ConfigParser<'_> {
    /// Adds all other agents to `first`.
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

    /// An agent's purpose in one line.
    pub(super) fn description(&mut self, written: Option<&Spanned<String>>) -> Arc<str> {
        let Some(written) = written else { return "".into() };
        let chars = written.value.trim().chars().count();
        if chars > MAX_DESCRIPTION_CHARS {
            let message =
                format!("this description has {chars} characters, {MAX_DESCRIPTION_CHARS} are allowed");
            self.refuse(written.defined, message, "describe the agent's purpose in one line".to_owned());
        }
        single_line(written.value.trim(), MAX_DESCRIPTION_CHARS).into()
    }

    fn agent_name(&mut self, name: &Spanned<String>, raw: &RawConfig) {
        let (word, at) = (name.value.as_str(), name.defined);
        if !is_user_name(word) {
            let help = "use letters, digits, `_`, `-` and `.`; it is also a folder name".to_owned();
            self.refuse(at, format!("`{}` is not a valid agent name", word.escape_debug()), help);
        }
        let first = raw.agent.name.as_ref().map_or("Assistant", |name| name.value.as_str());
        if is_same(word, first) {
            let message = format!("agent `{word}` is already configured in `agent`");
            self.refuse(at, message, "give it another name, or write its settings into `agent`".to_owned());
        }
        let before = raw.agents.0.iter().map(|(other, _)| other).take_while(|other| other.defined != at);
        if let Some(before) = before.into_iter().find(|other| is_same(&other.value, word)) {
            let message = format!("agent `{word}` and agent `{}` have the same name", before.value);
            self.refuse(at, message, "names are case-insensitive; choose another name".to_owned());
        }
    }

    fn folder(&mut self, name: &Spanned<String>, agent: &RawOtherAgent) -> String {
        let default = format!("agents/{}", name.value);
        let Some(written) = &agent.files else { return default };
        let folder = plain_path(written.value.trim_end_matches('/'));
        let reserved = |folder: &str| folder.split('/').any(|part| is_reserved(OsStr::new(part)));
        let reason = match folder {
            Ok(folder) if !reserved(&folder) => return folder,
            Ok(_) => "it is a reserved folder",
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

    /// Mutable layers are stored under the blueprint's name, so an agent that edits layers needs a blueprint name of
    /// its own.
    fn own_layers(&mut self, config: &mut Config, name: &Spanned<String>, raw: &RawConfig) {
        let mut blueprint = (*config.blueprint).clone();
        blueprint.name = format!("{} ({})", blueprint.name, name.value).into();
        if raw.blueprints.contains_key(&*blueprint.name) {
            let message = format!(
                "agent `{}` stores its layers as blueprint `{}`, which is already defined",
                name.value, blueprint.name
            );
            self.refuse(Location::UNKNOWN, message, "rename the blueprint with this name".to_owned());
        }
        config.blueprint = Arc::new(blueprint);
    }
}

/// Lists all agents in each agent's configuration.
fn introduced(mut first: Config, mut others: Vec<Config>) -> Config {
    let member = |config: &Config| {
        let of = format!(" ({})", config.agent.name);
        let blueprint = &*config.blueprint.name;
        AgentEntry {
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
        config.tools.retain(|tool| tool.name != HAND_OVER || roster.has_several());
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

/// The strictest rules of all agents, so that a file one agent restricts is restricted for all.
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

/// Lists the other agents and their purposes in the hand-over tool.
fn name_agents<'a>(tool: &mut ToolSpec, others: impl Iterator<Item = &'a AgentEntry>) {
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
