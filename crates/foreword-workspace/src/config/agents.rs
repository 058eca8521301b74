//! The agents of a workspace: who there is, whose configuration is whose, and what their own folders mean for the rules
//! about files.

use std::sync::Arc;

use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::file_rules::{Needed, needed};

use super::{Config, PromptConfig};

/// An agent, as the others know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for, in a line; empty if nobody has said it.
    pub description: Arc<str>,
    /// The name of its blueprint, as it is written.
    pub blueprint: Arc<str>,
    /// The model it runs on.
    pub model: Arc<str>,
    /// Its own folder; the first agent has none.
    pub files: Option<Arc<str>>,
    /// What goes into its prompt.
    pub prompt: PromptConfig,
    /// The layers of its prompt.
    pub layers: Arc<Blueprint>,
}

/// All agents of a workspace, the first one first, the others as they are written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roster(pub(super) Vec<Member>);

impl Roster {
    /// All of them.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.0
    }

    /// Whether there is more than one.
    #[must_use]
    pub fn has_company(&self) -> bool {
        self.0.len() > 1
    }

    /// The agent of that name, whichever way it is capitalised.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Member> {
        self.0.iter().find(|member| is_same(&member.name, name))
    }

    /// The names of all, for messages.
    #[must_use]
    pub fn names(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|member| format!("`{}`", member.name)).collect();
        names.join(", ")
    }
}

/// Whether two names are the same to people.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

impl Config {
    /// The configuration of another agent, by its name; `None` if it is this one, or there is none of that name.
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

    /// This configuration and those of the other agents, as far as it knows them: the first agent's knows all.
    pub fn everybody(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.others.values().map(|other| &**other))
    }

    /// What the file at `path`, relative to the workspace, needs when `user` asks for it, whichever agent reads it. In an
    /// agent's own folder at least what it would need outside.
    ///
    /// ```
    /// use foreword_prompt::file_rules::Needed;
    /// use foreword_prompt::trust::Trust;
    /// use foreword_workspace::config::Config;
    /// let config = Config::parse("foreword.yaml", "agents: { clerk: { files: staff/clerk } }").unwrap();
    /// assert_eq!(config.needed("staff/clerk/MEMORY.md", None), Needed::Trust(Trust::Full));
    /// assert_eq!(config.needed("staff/clerk/users/alice/USER.md", Some("bob")), Needed::Nobody);
    /// ```
    #[must_use]
    pub fn needed(&self, path: &str, user: Option<&str>) -> Needed {
        let plain = plain(path);
        let mut found = needed(&plain, user, &self.file_rules);
        for rest in self.in_own_folders(&plain) {
            found = stricter(found, needed(rest, user, &self.file_rules));
        }
        found
    }

    /// Where the file at `path` is in the folder of this agent, if it has one.
    #[must_use]
    pub fn own_path(&self, path: &str) -> Option<String> {
        self.agent.files.as_ref().map(|folder| format!("{folder}/{}", plain(path)))
    }

    /// The own folders of all agents.
    pub(crate) fn own_folders(&self) -> impl Iterator<Item = &str> {
        self.roster.0.iter().filter_map(|member| member.files.as_deref())
    }

    /// What a plain path stands for, if it is in the own folder of any agent: the path below that folder.
    pub fn in_own_folders<'a>(&'a self, plain: &'a str) -> impl Iterator<Item = &'a str> {
        self.own_folders().filter_map(move |folder| plain.strip_prefix(folder)?.strip_prefix('/'))
    }
}

/// A path without `.` and empty parts, as rules compare it.
#[must_use]
pub fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

/// What satisfies both.
pub(crate) fn stricter(one: Needed, other: Needed) -> Needed {
    match (one, other) {
        (Needed::Nobody, _) | (_, Needed::Nobody) => Needed::Nobody,
        (Needed::Trust(one), Needed::Trust(other)) => Needed::Trust(one.stricter(other)),
        (Needed::Trust(trust), Needed::Unruled) | (Needed::Unruled, Needed::Trust(trust)) => {
            Needed::Trust(trust)
        }
        (Needed::Unruled, Needed::Unruled) => Needed::Unruled,
    }
}
