//! Section `agent` as people write it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::RawState;
use super::compaction::RawCompaction;

/// Who answers.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawAgent {
    /// The agent's name. Default: `Assistant`.
    #[schemars(with = "Option<String>")]
    pub name: Option<Spanned<String>>,
    /// What it is for, in a line: other agents read it when they choose whom to hand a conversation to.
    #[schemars(with = "Option<String>")]
    pub description: Option<Spanned<String>>,
    /// What kind of agent it is, as templates see it in `agent_class`. Default: `Agent`.
    pub class: Option<String>,
    /// The layers of its prompt: `gateway`, `vm`, `sovereign`, `template`, `agent`, or one of your own. Default:
    /// `gateway`.
    #[schemars(with = "Option<String>")]
    pub blueprint: Option<Spanned<String>>,
    /// The model, as `provider/name`. Default: `offline/echo`, which needs no key and no network.
    #[schemars(with = "Option<String>")]
    pub model: Option<Spanned<String>>,
    /// Blueprint `sovereign`: the short name the agent knows itself by. Default: the agent's name.
    pub soul: Option<String>,
    /// Blueprint `sovereign`: skills whose instructions are always in the prompt.
    #[schemars(with = "Vec<String>")]
    pub active_skills: Vec<Spanned<String>>,
    /// How much one turn may do.
    pub limits: RawLimits,
    /// Where an agent that answers its inbox and ticks by itself learns how it stands. Default: nowhere.
    #[schemars(with = "Option<RawState>")]
    pub state: Option<Spanned<RawState>>,
    /// When a conversation is replaced by its summary without being asked.
    pub compaction: RawCompaction,
}

/// How much one turn may do; whichever is reached first ends it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawLimits {
    /// How often the model may be asked. Default: 25.
    #[schemars(with = "Option<u32>")]
    pub rounds: Option<Spanned<u32>>,
    /// How many tools it may call. Default: 100.
    #[schemars(with = "Option<u32>")]
    pub tool_calls: Option<Spanned<u32>>,
    /// How many seconds it may take. Default: 600.
    #[schemars(with = "Option<u64>")]
    pub seconds: Option<Spanned<u64>>,
}
