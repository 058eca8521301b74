//! The configuration of a workspace. A [`Config`] that exists is valid: reading `foreword.yaml` either gives one, or
//! every problem with its line.

mod agents;
mod bash;
mod export;
mod home_paths;
mod inbox;
mod logging;
pub mod mcp;
mod parse;
pub mod raw;
pub mod schedules;
mod sections;
pub mod server;
mod state;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::allowance::Allowance;
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
use foreword_prompt::prompt::TurnPlacement;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::{Trust, TrustDecision};

use crate::document::DocumentError;
pub use agents::{Member, Roster};
pub use bash::BashConfig;
pub use export::{ExportConfig, OtlpConfig};
pub use home_paths::HomePaths;
pub use inbox::InboxConfig;
pub use logging::LoggingConfig;
pub use mcp::McpServers;
pub(crate) use parse::{conventional_files, is_default_file};
pub use schedules::Schedule;
pub use sections::SECTIONS;
pub(crate) use sections::Sections;
pub use server::{Bridge, ClientKeys, ProxyConfig, ServerConfig, ServerLimits, TlsFiles};
pub use state::StateSource;

/// The name of the configuration file in a workspace.
pub const CONFIG_FILE: &str = "foreword.yaml";

/// Where everything is kept that must last, unless the configuration says otherwise.
pub const DEFAULT_STORE: &str = ".foreword/foreword.db";

/// A workspace's configuration, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who answers.
    pub agent: Agent,
    /// Where it learns how it stands, if it looks after itself.
    pub state: Option<StateSource>,
    /// How much one turn may do.
    pub limits: TurnLimits,
    /// When conversations are made shorter by themselves.
    pub compaction: CompactionPolicy,
    /// Who is who.
    pub users: Vec<User>,
    /// Kinds of places, by name.
    pub situations: BTreeMap<Arc<str>, Situation>,
    /// What goes into the prompt.
    pub prompt: PromptConfig,
    /// How long the provider is asked to keep what all conversations share.
    pub cache_ttl: CacheTtl,
    /// The layers of the agent's prompt.
    pub blueprint: Arc<Blueprint>,
    /// The tools of the program there are, in a stable order, each with its minimum trust.
    pub tools: Vec<ToolSpec>,
    /// What is written about tools by name, those of servers included.
    pub tool_rules: ToolRules,
    /// How long the owner is waited for; silence means no.
    pub confirm_time: Duration,
    /// What holds for the tool `bash`.
    pub bash: BashConfig,
    /// What holds for messages that others leave.
    pub inbox: InboxConfig,
    /// The servers of tools it uses.
    pub mcp: McpServers,
    /// What is known about models.
    pub models: ModelCatalog,
    /// How much may be spent.
    pub budgets: Vec<Allowance>,
    /// Where models are reached, by the provider's name: the built-in ones, and the owner's. The offline model is part
    /// of the program and not among them.
    pub providers: BTreeMap<Arc<str>, Provider>,
    /// How failed calls are tried again.
    pub retry: RetryPolicy,
    /// Where everything is kept that must last: a path below the workspace, or a Postgres address.
    pub store_url: StoreUrl,
    /// What runs by the clock, by name.
    pub schedules: BTreeMap<Arc<str>, Schedule>,
    /// How long events are kept.
    pub event_days: u32,
    /// Where numbers and traces go.
    pub export: ExportConfig,
    /// What is written to the log, and what is hidden in it.
    pub logging: LoggingConfig,
    /// What holds for the server.
    pub server: ServerConfig,
    /// What holds for the drop-in endpoints.
    pub proxy: ProxyConfig,
    /// What files of the workspace need, whichever agent reads them: the strictest that any agent's `prompt.files` says.
    pub(crate) file_rules: Arc<[FileRule]>,
    /// All agents of the workspace.
    pub roster: Arc<Roster>,
    /// The configurations of the agents beside this one, by name. Only the first agent's has some.
    pub(crate) others: BTreeMap<Arc<str>, Arc<Config>>,
    /// Things that are not wrong, but probably not meant.
    pub notes: Vec<DocumentError>,
    /// What its sections say, for a reload to compare.
    pub(crate) sections: Sections,
    /// What `~/` in its paths was expanded with.
    pub home: HomePaths,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for, in a line; empty if nobody has said it.
    pub description: Arc<str>,
    /// Its own folder, if it has one: the first agent has none.
    pub files: Option<Arc<str>>,
    /// What kind it is.
    pub class: Arc<str>,
    /// The model it runs on.
    pub model: Arc<str>,
    /// The short name it knows itself by.
    pub soul: Arc<str>,
    /// Skills that are always on.
    pub active_skills: Vec<Arc<str>>,
}

/// A person the agent knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name, safe as a folder's.
    pub name: Arc<str>,
    /// How far this person is trusted.
    pub trust: Trust,
    /// The channels this person writes from.
    pub channels: Vec<Channel>,
}

/// A kind of place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    /// Nobody is trusted above this here.
    pub ceiling: Trust,
    /// A file with rules for it.
    pub overlay: Option<Arc<str>>,
}

/// What goes into the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptConfig {
    /// The files and who may see them.
    pub files: Vec<FileRule>,
    /// The template's file.
    pub template_file: Option<String>,
    /// Its language.
    pub dialect: Dialect,
    /// Inline instructions.
    pub instructions: Option<String>,
    /// The file with the instructions.
    pub instruction_file: Option<String>,
    /// The prompts root.
    pub prompts_dir: Option<String>,
    /// The most tokens.
    pub budget: usize,
    /// Where the turn's context goes.
    pub turn_context: TurnPlacement,
    /// The identity file of blueprint `vm`.
    pub identity_file: String,
    /// The file with the owner's own instructions for blueprint `vm`.
    pub custom_instructions_file: String,
    /// Absolute paths that may be read.
    pub allowed_paths: Vec<String>,
}

impl Config {
    /// The configuration written as `text` in `file`.
    ///
    /// # Errors
    /// Every problem at once, each with its line.
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

    /// The same, with `~/` in paths expanded.
    ///
    /// # Errors
    /// Every problem at once, each with its line.
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

    /// The known user of that name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| &*user.name == name)
    }

    /// Whose agent it is: the first user who is trusted fully. What runs by itself runs for them.
    #[must_use]
    pub fn owner(&self) -> Option<&User> {
        self.users.iter().find(|user| user.trust == Trust::Full)
    }

    /// The known user who writes from `channel`.
    #[must_use]
    pub fn user_at(&self, channel: &Channel) -> Option<&User> {
        self.users.iter().find(|user| user.channels.contains(channel))
    }

    /// Who speaks: whoever is named, else whoever writes from the channel. A name that nobody has is nobody's, wherever it
    /// was said.
    #[must_use]
    pub fn speaker(&self, name: Option<&str>, channel: Option<&Channel>) -> Option<&User> {
        match name {
            Some(name) => self.user(name),
            None => self.user_at(channel?),
        }
    }

    /// The trust of `user` in `situation`. Whoever is unknown is `public`, and so is everyone in an unknown place.
    #[must_use]
    pub fn trust(&self, user: Option<&User>, situation: &str) -> TrustDecision {
        TrustDecision::new(user.map_or(Trust::Public, |user| user.trust), self.ceiling(situation))
    }

    /// What nobody is trusted above in `situation`; `public` in an unknown one.
    #[must_use]
    pub fn ceiling(&self, situation: &str) -> Trust {
        self.situations.get(situation).map_or(Trust::Public, |situation| situation.ceiling)
    }

    /// Whether prompts are made from the stored template, once there is one.
    #[must_use]
    pub fn builds_from_stored_template(&self) -> bool {
        let takes_it = |layer: &Layer| matches!(layer.source, Source::Template { path: None, .. });
        self.blueprint.layers.iter().any(takes_it)
    }

    /// The language of the configured template, be it a file or stored: that of the first layer that takes it and says
    /// so, else `prompt.dialect`.
    #[must_use]
    pub fn template_dialect(&self) -> Dialect {
        let said = |layer: &Layer| match layer.source {
            Source::Template { path: None, dialect } => dialect,
            _ => None,
        };
        self.blueprint.layers.iter().find_map(said).unwrap_or(self.prompt.dialect)
    }

    /// The tools somebody of this trust may use: those of the program, then those of `more`, which are from elsewhere. What a
    /// model is told of and what is run for it are both found here.
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
