//! The agents of a workspace, their configurations, and how their own folders affect the file rules.

use std::sync::Arc;

use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::file_rules::{FileRequirement, required_trust};

use super::{Config, PromptConfig};

/// An agent as the other agents see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// Its name.
    pub name: Arc<str>,
    /// Its purpose in one line; may be empty.
    pub description: Arc<str>,
    /// The configured name of its blueprint.
    pub blueprint: Arc<str>,
    /// Its model.
    pub model: Arc<str>,
    /// Its own folder. The first agent has none.
    pub files: Option<Arc<str>>,
    /// Its prompt settings.
    pub prompt: PromptConfig,
    /// The layers of its prompt.
    pub layers: Arc<Blueprint>,
}

/// All agents of a workspace: the first agent, then the others in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roster(pub(super) Vec<AgentEntry>);

impl Roster {
    /// All agents.
    #[must_use]
    pub fn members(&self) -> &[AgentEntry] {
        &self.0
    }

    /// Whether there is more than one agent.
    #[must_use]
    pub fn has_several(&self) -> bool {
        self.0.len() > 1
    }

    /// Finds an agent by name, ignoring case.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&AgentEntry> {
        self.0.iter().find(|member| is_same(&member.name, name))
    }

    /// The names of all agents, for messages.
    #[must_use]
    pub fn names(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|member| format!("`{}`", member.name)).collect();
        names.join(", ")
    }
}

/// Whether two names are equal, ignoring case.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

impl Config {
    /// The configuration of another agent by name. `None` for this agent's name and for unknown names.
    ///
    /// ```
    /// use foreword_workspace::config::Config;
    /// let yaml = "agent: { name: Ada }\nagents:\n  clerk: { blueprint: vm }\n";
    /// let config = Config::parse("foreword.yaml", yaml).unwrap();
    /// assert_eq!(&*config.other_agent("Clerk").unwrap().blueprint.name, "vm (clerk)");
    /// assert!(config.other_agent("Ada").is_none());
    /// ```
    #[must_use]
    pub fn other_agent(&self, name: &str) -> Option<&Arc<Self>> {
        self.others.iter().find(|(other, _)| is_same(other, name)).map(|(_, config)| config)
    }

    /// This configuration and those of the other agents it contains. The first agent's configuration contains all.
    pub fn all_agents(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.others.values().map(|other| &**other))
    }

    /// The trust that `user` needs to read the file at `path`, relative to the workspace, independent of the agent. A
    /// file in an agent's own folder needs at least as much as the same file outside.
    ///
    /// ```
    /// use foreword_prompt::file_rules::FileRequirement;
    /// use foreword_prompt::trust::Trust;
    /// use foreword_workspace::config::Config;
    /// let config = Config::parse("foreword.yaml", "agents: { clerk: { files: staff/clerk } }").unwrap();
    /// assert_eq!(config.required_trust("staff/clerk/MEMORY.md", None), FileRequirement::Trust(Trust::Full));
    /// assert_eq!(config.required_trust("staff/clerk/users/alice/USER.md", Some("bob")), FileRequirement::Never);
    /// ```
    #[must_use]
    pub fn required_trust(&self, path: &str, user: Option<&str>) -> FileRequirement {
        let plain = plain(path);
        let mut found = required_trust(&plain, user, &self.file_rules);
        for rest in self.in_own_folders(&plain) {
            found = stricter(found, required_trust(rest, user, &self.file_rules));
        }
        found
    }

    /// The path of the file at `path` in this agent's own folder, if it has one.
    #[must_use]
    pub fn own_path(&self, path: &str) -> Option<String> {
        self.agent.files.as_ref().map(|folder| format!("{folder}/{}", plain(path)))
    }

    /// The own folders of all agents.
    pub(crate) fn own_folders(&self) -> impl Iterator<Item = &str> {
        self.roster.0.iter().filter_map(|member| member.files.as_deref())
    }

    /// The path below the folder, for a plain path in any agent's own folder.
    pub fn in_own_folders<'a>(&'a self, plain: &'a str) -> impl Iterator<Item = &'a str> {
        self.own_folders().filter_map(move |folder| plain.strip_prefix(folder)?.strip_prefix('/'))
    }
}

/// Normalises a path for comparison with rules: removes `.` and empty segments.
#[must_use]
pub fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

/// The stricter of two requirements.
pub(crate) fn stricter(one: FileRequirement, other: FileRequirement) -> FileRequirement {
    match (one, other) {
        (FileRequirement::Never, _) | (_, FileRequirement::Never) => FileRequirement::Never,
        (FileRequirement::Trust(one), FileRequirement::Trust(other)) => {
            FileRequirement::Trust(one.stricter(other))
        }
        (FileRequirement::Trust(trust), FileRequirement::NoRule)
        | (FileRequirement::NoRule, FileRequirement::Trust(trust)) => FileRequirement::Trust(trust),
        (FileRequirement::NoRule, FileRequirement::NoRule) => FileRequirement::NoRule,
    }
}
