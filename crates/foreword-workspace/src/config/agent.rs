//! Section `agent`: the first agent and the limits of a turn.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::limits::TurnLimits;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::compaction::RawCompaction;
use super::parse::ConfigParser;
use super::raw::RawState;

/// The first agent.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawAgent {
    /// The agent's name. Default: `Assistant`.
    #[schemars(with = "Option<String>")]
    pub name: Option<Spanned<String>>,
    /// Its purpose in one line. Other agents read it when they choose an agent to hand a conversation over to.
    #[schemars(with = "Option<String>")]
    pub description: Option<Spanned<String>>,
    /// The kind of agent, for templates (`agent_class`). Default: `Agent`.
    pub class: Option<String>,
    /// The blueprint of its prompt: `gateway`, `vm`, `sovereign`, `template`, `agent`, or a custom one. Default:
    /// `gateway`.
    #[schemars(with = "Option<String>")]
    pub blueprint: Option<Spanned<String>>,
    /// The model, as `provider/name`. Default: `offline/echo`, which needs no key and no network.
    #[schemars(with = "Option<String>")]
    pub model: Option<Spanned<String>>,
    /// Blueprint `sovereign`: the short name the agent uses for itself. Default: the agent's name.
    pub soul: Option<String>,
    /// Blueprint `sovereign`: skills whose instructions are always in the prompt.
    #[schemars(with = "Vec<String>")]
    pub active_skills: Vec<Spanned<String>>,
    /// The limits of one turn.
    pub limits: RawLimits,
    /// The state of a self-supporting agent, which answers its inbox and runs on a schedule. Default: none.
    #[schemars(with = "Option<RawState>")]
    pub state: Option<Spanned<RawState>>,
    /// When a conversation is compacted automatically.
    pub compaction: RawCompaction,
}

/// The limits of one turn. The first limit reached ends the turn.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawLimits {
    /// The maximum number of model calls. Default: 25.
    #[schemars(with = "Option<u32>")]
    pub rounds: Option<Spanned<u32>>,
    /// The maximum number of tool calls. Default: 100.
    #[schemars(with = "Option<u32>")]
    pub tool_calls: Option<Spanned<u32>>,
    /// The timeout in seconds. Default: 600.
    #[schemars(with = "Option<u64>")]
    pub seconds: Option<Spanned<u64>>,
}

/// The agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Its name.
    pub name: Arc<str>,
    /// Its purpose in one line; may be empty.
    pub description: Arc<str>,
    /// Its own folder. The first agent has none.
    pub files: Option<Arc<str>>,
    /// Its kind, for templates.
    pub class: Arc<str>,
    /// Its model.
    pub model: Arc<str>,
    /// The short name it uses for itself.
    pub soul: Arc<str>,
    /// Skills that are always active.
    pub active_skills: Vec<Arc<str>>,
}

impl ConfigParser<'_> {
    pub(super) fn agent(&mut self, raw: &RawAgent) -> AgentConfig {
        let name = self.word(raw.name.as_ref(), "agent.name", "Assistant");
        let model = self.word(raw.model.as_ref(), "agent.model", "offline/echo");
        if let Some(written) = raw.model.as_ref().filter(|model| !model.value.contains('/')) {
            let message = format!("model `{}` has no provider prefix", written.value.escape_debug());
            self.refuse(written.defined, message, format!("write it as `provider/{}`", written.value));
        }
        AgentConfig {
            description: self.description(raw.description.as_ref()),
            files: None,
            class: raw.class.as_deref().unwrap_or("Agent").into(),
            soul: raw.soul.as_deref().unwrap_or(&name).into(),
            active_skills: raw.active_skills.iter().map(|skill| skill.value.as_str().into()).collect(),
            name: name.into(),
            model: model.into(),
        }
    }

    pub(super) fn limits(&mut self, raw: &RawLimits) -> TurnLimits {
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
}
