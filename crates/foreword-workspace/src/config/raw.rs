//! The YAML form of `foreword.yaml`. Only types and keys are checked here; [`super::Config::parse`] turns it into a
//! valid [`super::Config`]. `foreword schema` prints the doc comments.

use std::collections::BTreeMap;

use foreword_core::models::ModelEntry;
use foreword_prompt::blueprint::spec::BlueprintSpec;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

pub use super::agent::{RawAgent, RawLimits};
pub use super::agents::{RawAgentTools, RawOtherAgent};
pub use super::budgets::{RawBudgetRule, RawPart};
pub use super::compaction::{RawCompaction, RawShare};
pub use super::conversations::RawConversations;
pub use super::export::RawOtlp;
pub use super::inbox::RawInbox;
pub use super::logging::{RawLevel, RawLogFile, RawLogging, RawRedact, RawRotation};
pub use super::mcp::{RawMcpServer, RawMcpTool};
pub use super::named::Named;
pub use super::people::{RawSituation, RawUser};
pub use super::prompt::{RawBudget, RawCache, RawFile, RawMemory, RawPrompt, RawSystemPrompt};
pub use super::providers::{RawProvider, RawTimeouts};
pub use super::proxy::{RawClientKeys, RawProxy};
pub use super::retry::{RawRequeue, RawRetry};
pub use super::schedules::{RawMissed, RawSchedule};
pub use super::server::{RawBridge, RawServer, RawServerLimits, RawTls};
pub use super::state::{RawSpending, RawState};
pub use super::storage::{RawEvents, RawStore};
pub use super::tools::{RawBash, RawTools};

/// The configuration of a Foreword workspace. Every key has a default.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawConfig {
    /// The first agent and its model.
    pub agent: RawAgent,
    /// Further agents by name. A conversation can be handed over from one agent to another.
    #[schemars(with = "BTreeMap<String, RawOtherAgent>")]
    pub agents: Named<RawOtherAgent>,
    /// The known users. Default: the owner, at `terminal:default`. Everyone else is `public`.
    pub users: Option<Vec<RawUser>>,
    /// The kinds of conversations. Default: `dm` (full), `group` (familiar), `inbox` (full), `system` (full).
    #[schemars(with = "BTreeMap<String, RawSituation>")]
    pub situations: BTreeMap<String, Spanned<RawSituation>>,
    /// Limits for conversation settings.
    pub conversations: RawConversations,
    /// Prompt settings.
    pub prompt: RawPrompt,
    /// Custom blueprints by name, made of the same parts as the built-in ones.
    pub blueprints: BTreeMap<String, BlueprintSpec>,
    /// The memory menu.
    pub memory: RawMemory,
    /// The tools an agent may use.
    pub tools: RawTools,
    /// The inbox: messages from other agents and programs.
    pub inbox: RawInbox,
    /// Models and prices that add to or replace the built-in table.
    pub prices: Vec<ModelEntry>,
    /// Spending limits for model calls, with a warning before the limit is reached.
    #[schemars(with = "Vec<RawBudgetRule>")]
    pub budgets: Vec<Spanned<RawBudgetRule>>,
    /// Providers by name, which is the part of a model before the `/`. For a built-in provider (`anthropic`, `openai`,
    /// `openrouter`, `ollama` …) only the given keys change.
    #[schemars(with = "BTreeMap<String, Option<RawProvider>>")]
    pub providers: Named<Option<RawProvider>>,
    /// The retry policy for model calls.
    pub retry: RawRetry,
    /// Observability. The log: JSON lines, in a file and on standard output.
    pub logging: RawLogging,
    /// The event log.
    pub events: RawEvents,
    /// Schedules by name.
    #[schemars(with = "BTreeMap<String, RawSchedule>")]
    pub schedules: Named<RawSchedule>,
    /// The database.
    pub store: RawStore,
    /// The HTTP and WebSocket server.
    pub server: RawServer,
    /// The proxy endpoints for clients of the Anthropic and OpenAI APIs.
    pub proxy: RawProxy,
}
