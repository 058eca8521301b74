//! Section `agents` as people write it.

use std::collections::BTreeMap;

use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{RawAgent, RawConfig, RawLimits, RawPrompt, RawSystemPrompt, RawTools};

/// Another agent of the workspace. What is left out is as for the first one, in `agent`, `prompt` and `tools`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawOtherAgent {
    /// What it is for, in a line: the other agents read it when they choose whom to hand a conversation to.
    #[schemars(with = "Option<String>")]
    pub description: Option<Spanned<String>>,
    /// What kind of agent it is, as templates see it in `agent_class`.
    pub class: Option<String>,
    /// The layers of its prompt. Layers it may edit are its own, even if another agent has the same blueprint.
    #[schemars(with = "Option<String>")]
    pub blueprint: Option<Spanned<String>>,
    /// The model, as `provider/name`.
    #[schemars(with = "Option<String>")]
    pub model: Option<Spanned<String>>,
    /// Blueprint `sovereign`: the short name the agent knows itself by. Default: its name.
    pub soul: Option<String>,
    /// Blueprint `sovereign`: skills whose instructions are always in the prompt.
    #[schemars(with = "Option<Vec<String>>")]
    pub active_skills: Option<Vec<Spanned<String>>>,
    /// How much one turn may do.
    pub limits: RawLimits,
    /// What goes into its prompt: the same keys as `prompt`. A file's trust can be raised here, never lowered.
    pub prompt: RawPrompt,
    /// The tools it may use, besides what `tools` says.
    pub tools: RawAgentTools,
    /// Its own folder: a file that a prompt asks for is taken from there, if it is there. Default: `agents/<name>`.
    #[schemars(with = "Option<String>")]
    pub files: Option<Spanned<String>>,
}

/// The tools of one agent.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawAgentTools {
    /// Tools that are switched off for it, besides those that are off for all; named as in `tools`, those of servers included.
    #[schemars(with = "Vec<String>")]
    pub disabled: Vec<Spanned<String>>,
    /// Another minimum trust for a tool, by name. Where `tools` has one too, the higher of the two holds.
    #[schemars(with = "BTreeMap<String, Trust>")]
    pub trust: BTreeMap<String, Spanned<Trust>>,
    /// Tools that need the owner's word in a turn which has read text from outside, besides those that do for all.
    #[schemars(with = "Vec<String>")]
    pub sensitive: Vec<Spanned<String>>,
}

impl RawConfig {
    /// The configuration as it would be written if `agent`, called `name`, were the only one.
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
    // What says where instructions come from goes together: a file of its own is not to lose against others' words.
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

/// What is off for all stays off, and of two rules about one tool the stricter holds.
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
