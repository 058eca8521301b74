//! The configuration of a workspace. Every [`Config`] is valid: parsing `foreword.yaml` returns either a [`Config`] or
//! all problems with their lines.

mod agent;
mod agents;
mod bash;
mod bounds;
mod budgets;
mod compaction;
mod conversation_settings;
mod conversations;
mod export;
mod home_paths;
mod inbox;
mod logging;
pub mod mcp;
mod named;
mod parse;
mod people;
mod prompt;
mod providers;
mod proxy;
pub mod raw;
mod retry;
mod roster;
pub mod schedules;
mod sections;
pub mod server;
mod state;
mod storage;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::budget_rule::BudgetRule;
use foreword_core::compaction::CompactionPolicy;
use foreword_core::limits::TurnLimits;
use foreword_core::models::ModelCatalog;
use foreword_core::price::CacheTtl;
use foreword_core::provider::Provider;
use foreword_core::retry::RetryPolicy;
use foreword_core::store_url::StoreUrl;
use foreword_core::tools::ToolRules;
use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::layer::{Dialect, Layer, Source};
use foreword_prompt::occasion::Channel;
use foreword_prompt::plan::FileRule;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::{Trust, TrustDecision};

use crate::document::DocumentError;
pub use agent::AgentConfig;
pub use bash::BashConfig;
pub use conversation_settings::ConfiguredSettings;
pub use export::{ExportConfig, OtlpConfig};
pub use home_paths::HomePaths;
pub use inbox::InboxConfig;
pub use logging::LoggingConfig;
pub use mcp::McpServers;
pub(crate) use parse::has_no_settings;
pub use people::{Situation, User};
pub use prompt::PromptConfig;
pub(crate) use prompt::{conventional_files, is_default_file};
pub use proxy::{ProxyConfig, RawClientKeys as ClientKeys};
pub(crate) use roster::stricter;
pub use roster::{AgentEntry, Roster, plain};
pub use schedules::Schedule;
pub use sections::SECTIONS;
pub(crate) use sections::Sections;
pub use server::{Bridge, ServerConfig, ServerLimits, TlsFiles};
pub use state::StateSource;

/// The name of the configuration file in a workspace.
pub const CONFIG_FILE: &str = "foreword.yaml";

/// The default store.
pub const DEFAULT_STORE: &str = ".foreword/foreword.db";

/// A validated workspace configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The agent.
    pub agent: AgentConfig,
    /// The source of the agent's state, for a self-supporting agent.
    pub state: Option<StateSource>,
    /// The limits of one turn.
    pub limits: TurnLimits,
    /// When conversations are compacted automatically.
    pub compaction: CompactionPolicy,
    /// The known users.
    pub users: Vec<User>,
    /// The situations by name.
    pub situations: BTreeMap<Arc<str>, Situation>,
    /// Directories besides the workspace that a conversation's working directory may be in, as written.
    pub cwd_roots: Vec<String>,
    /// Prompt settings.
    pub prompt: PromptConfig,
    /// The cache lifetime requested for text that all conversations share.
    pub cache_ttl: CacheTtl,
    /// The layers of the agent's prompt.
    pub blueprint: Arc<Blueprint>,
    /// The enabled built-in tools in a stable order, each with its minimum trust.
    pub tools: Vec<ToolSpec>,
    /// The rules for tools by name, MCP tools included.
    pub tool_rules: ToolRules,
    /// How long to wait for the owner's confirmation. A timeout means no.
    pub confirm_time: Duration,
    /// Configuration of the tool `bash`.
    pub bash: BashConfig,
    /// Configuration of the inbox.
    pub inbox: InboxConfig,
    /// The MCP servers.
    pub mcp: McpServers,
    /// The known models and their prices.
    pub models: ModelCatalog,
    /// The budgets.
    pub budgets: Vec<BudgetRule>,
    /// The providers by name: the built-in and the configured ones. The offline model is part of the program and not
    /// included.
    pub providers: BTreeMap<Arc<str>, Provider>,
    /// The retry policy for model calls.
    pub retry: RetryPolicy,
    /// The store: a path below the workspace, or a Postgres URL.
    pub store_url: StoreUrl,
    /// The schedules by name.
    pub schedules: BTreeMap<Arc<str>, Schedule>,
    /// How many days events are kept.
    pub event_days: u32,
    /// Export of metrics and traces.
    pub export: ExportConfig,
    /// Configuration of the log and of redaction.
    pub logging: LoggingConfig,
    /// Configuration of the server.
    pub server: ServerConfig,
    /// Configuration of the proxy endpoints.
    pub proxy: ProxyConfig,
    /// The trust that workspace files need, independent of the agent: the strictest rule in any agent's `prompt.files`.
    pub(crate) file_rules: Arc<[FileRule]>,
    /// All agents of the workspace.
    pub roster: Arc<Roster>,
    /// The configurations of the other agents by name. Only the first agent's configuration has entries.
    pub(crate) others: BTreeMap<Arc<str>, Arc<Config>>,
    /// Problems that are no errors, but probably unintended.
    pub notes: Vec<DocumentError>,
    /// Hashes of the sections, to compare after a reload.
    pub(crate) sections: Sections,
    /// The directories that `~/` was expanded with.
    pub home: HomePaths,
}

impl Config {
    /// Parses the configuration `text`, read from `file`.
    ///
    /// # Errors
    /// All problems, each with its line.
    ///
    /// ```
    /// use foreword_workspace::config::Config;
    /// let config = Config::parse("foreword.yaml", "agent: { name: Ada }").unwrap();
    /// assert_eq!(&*config.agent.name, "Ada");
    /// let problems = Config::parse("foreword.yaml", "agent: { nam: Ada }").unwrap_err();
    /// assert_eq!(problems[0].help.as_deref(), Some("did you mean `name`?"));
    /// ```
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<DocumentError>> {
        Self::parse_at(file, text, &HomePaths::default())
    }

    /// As [`Config::parse`], with `~/` in paths expanded.
    ///
    /// # Errors
    /// All problems, each with its line.
    pub fn parse_at(file: &str, text: &str, home: &HomePaths) -> Result<Self, Vec<DocumentError>> {
        parse::config(file, text, home)
    }

    /// The configuration of a workspace without a `foreword.yaml`.
    ///
    /// # Errors
    /// Never in practice: a test parses the empty configuration.
    pub fn defaults() -> Result<Self, Vec<DocumentError>> {
        Self::parse(CONFIG_FILE, "")
    }

    /// The known user with this name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| &*user.name == name)
    }

    /// The owner of the agent: the first user with full trust. Schedules run for this user.
    #[must_use]
    pub fn owner(&self) -> Option<&User> {
        self.users.iter().find(|user| user.trust == Trust::Full)
    }

    /// The known user who writes from `channel`.
    #[must_use]
    pub fn user_at(&self, channel: &Channel) -> Option<&User> {
        self.users.iter().find(|user| user.channels.contains(channel))
    }

    /// The user who is speaking: the named one, otherwise the one who writes from the channel. An unknown name resolves
    /// to no user, even if the channel is known.
    #[must_use]
    pub fn speaker(&self, name: Option<&str>, channel: Option<&Channel>) -> Option<&User> {
        match name {
            Some(name) => self.user(name),
            None => self.user_at(channel?),
        }
    }

    /// The trust of `user` in `situation`. It is `public` for an unknown user, and for everyone in an unknown
    /// situation.
    #[must_use]
    pub fn trust(&self, user: Option<&User>, situation: &str) -> TrustDecision {
        TrustDecision::new(user.map_or(Trust::Public, |user| user.trust), self.ceiling(situation))
    }

    /// The trust ceiling of `situation`; `public` for an unknown one.
    #[must_use]
    pub fn ceiling(&self, situation: &str) -> Trust {
        self.situations.get(situation).map_or(Trust::Public, |situation| situation.ceiling)
    }

    /// Whether prompts use the stored template, if there is one.
    #[must_use]
    pub fn builds_from_stored_template(&self) -> bool {
        let takes_it = |layer: &Layer| matches!(layer.source, Source::Template { path: None, .. });
        self.blueprint.layers.iter().any(takes_it)
    }

    /// The dialect of the configured template, file or stored: that of the first layer that uses the template and
    /// states one, otherwise `prompt.dialect`.
    #[must_use]
    pub fn template_dialect(&self) -> Dialect {
        let said = |layer: &Layer| match layer.source {
            Source::Template { path: None, dialect } => dialect,
            _ => None,
        };
        self.blueprint.layers.iter().find_map(said).unwrap_or(self.prompt.dialect)
    }

    /// The tools available at this trust: the built-in ones, then those of `more` from MCP servers. Both the tool list
    /// sent to the model and the execution of calls use this function.
    ///
    /// ```
    /// use foreword_prompt::tool::ToolSpec;
    /// use foreword_prompt::trust::Trust;
    /// use foreword_workspace::config::Config;
    ///
    /// let yaml = "tools: { disabled: [files__write], mcp: { files: { command: files } } }";
    /// let config = Config::parse("foreword.yaml", yaml).unwrap();
    /// let more = ["files__read", "files__write"].map(|name| ToolSpec::new(name, "Does it.", Trust::Public));
    /// let names: Vec<_> = config.tools_at(Trust::Public, &more).into_iter().map(|tool| tool.name).collect();
    /// assert_eq!(names, ["files__read"]);
    /// ```
    #[must_use]
    pub fn tools_at(&self, trust: Trust, more: &[ToolSpec]) -> Vec<ToolSpec> {
        let more = more.iter().filter_map(|tool| self.tool_rules.for_outside(tool));
        self.tools.iter().cloned().chain(more).filter(|tool| trust.permits(tool.trust)).collect()
    }
}
