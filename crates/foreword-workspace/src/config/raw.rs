//! `foreword.yaml` as people write it. Only shapes and words are checked here; [`super::Config::parse`] turns it into a
//! [`super::Config`] that can't be wrong. The doc comments are what `foreword schema` shows.

mod agent;
mod agents;
mod budgets;
mod compaction;
mod conversations;
mod export;
mod inbox;
mod logging;
mod mcp;
mod named;
mod providers;
mod retry;
mod schedules;
mod server;
mod state;
mod tools;

use std::collections::BTreeMap;
use std::fmt;

use foreword_core::models::ModelEntry;
use foreword_core::price::CacheTtl;
use foreword_prompt::blueprint::spec::BlueprintSpec;
use foreword_prompt::layer::Dialect;
use foreword_prompt::prompt::TurnPlacement;
use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

pub use agent::{RawAgent, RawLimits};
pub use agents::{RawAgentTools, RawOtherAgent};
pub use budgets::{RawAllowance, RawPart};
pub use compaction::{RawCompaction, RawShare};
pub use conversations::RawConversations;
pub use export::RawOtlp;
pub use inbox::RawInbox;
pub use logging::{RawLevel, RawLogFile, RawLogging, RawRedact, RawRotation};
pub use mcp::{RawMcpServer, RawMcpTool};
pub use named::Named;
pub use providers::{RawProvider, RawTimeouts};
pub use retry::{RawRequeue, RawRetry};
pub use schedules::{RawMissed, RawSchedule};
pub use server::{RawBridge, RawClientKeys, RawProxy, RawServer, RawServerLimits, RawTls};
pub use state::{RawSpending, RawState};
pub use tools::{RawBash, RawTools};

/// The configuration of a Foreword workspace. Every key has a default.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawConfig {
    /// Who answers, and on which model.
    pub agent: RawAgent,
    /// Other agents beside the first one, by name. A conversation can be handed from one to another.
    #[schemars(with = "BTreeMap<String, RawOtherAgent>")]
    pub agents: Named<RawOtherAgent>,
    /// Who is who. Default: the owner, at `terminal:default`. Whoever is not listed is `public`.
    pub users: Option<Vec<RawUser>>,
    /// Where conversations take place. Default: `dm` (full), `group` (familiar), `inbox` (full), `system` (full).
    #[schemars(with = "BTreeMap<String, RawSituation>")]
    pub situations: BTreeMap<String, Spanned<RawSituation>>,
    /// What conversations may be set to.
    pub conversations: RawConversations,
    /// What goes into the prompt.
    pub prompt: RawPrompt,
    /// Blueprints of your own, by name, made of the same parts as the built-in ones.
    pub blueprints: BTreeMap<String, BlueprintSpec>,
    /// The memory menu.
    pub memory: RawMemory,
    /// The tools an agent may use.
    pub tools: RawTools,
    /// Messages that others leave for the agent.
    pub inbox: RawInbox,
    /// Models and prices that add to or replace the built-in table.
    pub prices: Vec<ModelEntry>,
    /// How much may be spent on calls to models: with a warning when most of it is gone, and a stop when all of it is.
    #[schemars(with = "Vec<RawAllowance>")]
    pub budgets: Vec<Spanned<RawAllowance>>,
    /// Where models are reached, by the name in front of the `/` of a model. Of a provider that is known (`anthropic`,
    /// `openai`, `openrouter`, `ollama` …) only what you mention changes.
    #[schemars(with = "BTreeMap<String, Option<RawProvider>>")]
    pub providers: Named<Option<RawProvider>>,
    /// How failed calls to a model are tried again.
    pub retry: RawRetry,
    /// What is told of the agent's work, and where.
    /// The log: lines of JSON, in a file and on standard output.
    pub logging: RawLogging,
    /// The event log.
    pub events: RawEvents,
    /// What runs by the clock, by name.
    #[schemars(with = "BTreeMap<String, RawSchedule>")]
    pub schedules: Named<RawSchedule>,
    /// Where everything is kept that must last.
    pub store: RawStore,
    /// The HTTP and WebSocket server.
    pub server: RawServer,
    /// The drop-in endpoints.
    pub proxy: RawProxy,
}

/// A person the agent knows.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawUser {
    /// The name; also the folder `users/<name>/`.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// How far this person is trusted.
    pub trust: Trust,
    /// The channels this person writes from, such as `signal:+15550100`.
    #[serde(default, rename = "match")]
    #[schemars(with = "Vec<String>")]
    pub matches: Vec<Spanned<String>>,
}

/// A kind of place.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSituation {
    /// Nobody is trusted above this here. Default: the built-in ceiling, `familiar` for a situation of your own.
    pub ceiling: Option<Trust>,
    /// A file with rules for this kind of place.
    #[schemars(with = "Option<String>")]
    pub prompt_overlay: Option<Spanned<String>>,
}

/// What goes into the prompt.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawPrompt {
    /// The workspace files a prompt may hold, and who may see each. Default: SOUL.md, AGENTS.md, TOOLS.md and
    /// IDENTITY.md for `familiar`, USER.md per user for `inner`, MEMORY.md and HEARTBEAT.md for `full`.
    #[schemars(with = "Option<Vec<RawFile>>")]
    pub files: Option<Vec<Spanned<RawFile>>>,
    /// Blueprint `template`: the template's file. Default: a small built-in template.
    #[schemars(with = "Option<String>")]
    pub template_file: Option<Spanned<String>>,
    /// The language of the template. Default: `bracket`.
    pub dialect: Option<Dialect>,
    /// Blueprint `agent`: the instructions themselves. A blank text means no prompt.
    pub instructions: Option<String>,
    /// Blueprint `agent`: the file with the instructions, below the prompts root.
    #[schemars(with = "Option<String>")]
    pub instruction_file: Option<Spanned<String>>,
    /// Blueprint `agent`: the prompts root. Default: `FOREWORD_PROMPTS_DIR`, else `.agents/prompt`.
    #[schemars(with = "Option<String>")]
    pub prompts_dir: Option<Spanned<String>>,
    /// How large the prompt may be.
    pub budget: RawBudget,
    /// What the provider is asked to cache.
    pub cache: RawCache,
    /// Where what changes every turn goes: at the head of the new `message`, or last in the `system` prompt. Default:
    /// `message`.
    pub turn_context: Option<TurnPlacement>,
    /// Blueprint `vm`: its files.
    pub system_prompt: RawSystemPrompt,
    /// Absolute paths that `[file:/…]` may read: files, or folders with everything below.
    #[schemars(with = "Option<Vec<String>>")]
    pub allowed_paths: Option<Vec<Spanned<String>>>,
}

/// A workspace file and who may see it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawFile {
    /// The path below the workspace; for a per-user file, below `users/<name>/`.
    pub path: String,
    /// Who may see it. Default: `full`.
    #[serde(default = "full")]
    pub trust: Trust,
    /// Whether each user has their own.
    #[serde(default)]
    pub per_user: bool,
}

fn full() -> Trust {
    Trust::Full
}

/// How large the prompt may be.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawBudget {
    /// The most tokens. Default: 30,000.
    #[schemars(with = "Option<usize>")]
    pub tokens: Option<Spanned<usize>>,
}

/// What the provider is asked to cache.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawCache {
    /// How long the provider keeps what all conversations share, where it can be told: `5m` or `1h`. Default: `5m`.
    /// What belongs to one conversation is kept for five minutes.
    pub ttl: Option<CacheTtl>,
}

/// The files of blueprint `vm`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawSystemPrompt {
    /// Who the agent is, as text; `identity_file` is then not read.
    pub identity: Option<String>,
    /// A file that says who the agent is. Default: `system-prompt.md`.
    #[schemars(with = "Option<String>")]
    pub identity_file: Option<Spanned<String>>,
    /// A file with your own instructions, read last. Default: `instructions.md`.
    #[schemars(with = "Option<String>")]
    pub custom_instructions_file: Option<Spanned<String>>,
}

/// The memory menu.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawMemory {
    /// The most tokens the menu may have. Default: 2,000.
    pub menu_tokens: Option<usize>,
}

/// Where everything is kept that must last.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawStore {
    /// A file's path, or `postgres://user@host/database` for several nodes. Default: `.foreword/foreword.db`. The
    /// environment variable `FOREWORD_STORE_URL` goes before it, so that a password need not stand in a file.
    #[schemars(with = "Option<String>")]
    pub url: Option<Spanned<String>>,
}

/// An address may hold a password.
impl fmt::Debug for RawStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawStore").finish_non_exhaustive()
    }
}

/// The event log.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawEvents {
    /// Events older than this many days are deleted. Default: 30.
    #[schemars(with = "Option<u32>")]
    pub retention_days: Option<Spanned<u32>>,
}
