//! An immutable view of a workspace: whatever is read through a snapshot stays as it was first read, so that a prompt
//! is never made from two versions of a file. Nothing is read before it is asked for; what trust withholds is never
//! opened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::menu::MenuEntry;
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Counter;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use quick_cache::sync::Cache;

use crate::config::Config;
use crate::error::{ResolutionError, WorkspaceError};
use crate::loaded::Loaded;
use crate::memory_files::{MemoryAccess, load_permitted};
use crate::memory_index::FileIndexes;
use crate::prompt_store::PromptStore;
use crate::roots::{FileText, Root};
use crate::skills::{Skill, load_skills, load_user_skills};
use crate::text_pool::FileCache;
use crate::workflows::{Workflow, load_workflows};
use crate::workspace::Place;

/// What all snapshots of a workspace share: the directory handle and what was read, by content.
#[derive(Debug)]
pub struct Files {
    /// The workspace's directory.
    pub root: Root,
    /// File texts, by version.
    pub cache: Arc<FileCache>,
    /// Token counts, by content.
    counts: Cache<(Counter, ContentHash), usize>,
    /// The words of the memory files, as they were when somebody last looked for some.
    pub(crate) memory: FileIndexes,
}

impl Files {
    /// The files below `root`.
    #[must_use]
    pub fn new(root: Root, cache: Arc<FileCache>) -> Self {
        Self { root, cache, counts: Cache::new(200_000), memory: FileIndexes::default() }
    }

    /// The tokens of a text, counted once for each content.
    #[must_use]
    pub fn tokens(&self, counter: Counter, hash: ContentHash, text: &str) -> usize {
        if let Some(known) = self.counts.get(&(counter, hash)) {
            return known;
        }
        let tokens = counter.get().count(text);
        self.counts.insert((counter, hash), tokens);
        tokens
    }
}

/// A version of `foreword.yaml`: the hash of its text, or why it has none. A missing file is an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigVersion {
    /// The hash of its text.
    pub text: Result<ContentHash, WorkspaceError>,
    /// Whether it was refused.
    pub refused: bool,
}

/// The lines of a memory store's menu.
type StoreMenu = BTreeMap<(&'static str, Counter), Arc<[MenuEntry]>>;

/// A workspace as it was when it was first looked at.
#[derive(Debug)]
pub struct Snapshot {
    /// Tells snapshots apart.
    pub generation: u64,
    /// The configuration.
    pub config: Arc<Config>,
    /// Which `foreword.yaml` was last looked at; if it was refused, `config` is from one before it.
    pub(crate) config_version: ConfigVersion,
    files: Arc<Files>,
    seen: Arc<Seen>,
    menus: Mutex<StoreMenu>,
    prompts: OnceLock<Result<Arc<PromptStore>, WorkspaceError>>,
    /// The same moment as the other agents see it, each under its own configuration.
    agents: Vec<Arc<Snapshot>>,
}

/// What was read and is the same for all agents.
#[derive(Debug, Default)]
struct Seen {
    read: Mutex<BTreeMap<Box<str>, Result<FileText, WorkspaceError>>>,
    skills: OnceLock<Loaded<Skill>>,
    user_skills: Mutex<BTreeMap<Box<str>, Arc<Loaded<Skill>>>>,
    workflows: OnceLock<Loaded<Workflow>>,
}

impl Snapshot {
    /// A fresh view under `config`.
    #[must_use]
    pub fn new(generation: u64, config: Arc<Config>, version: ConfigVersion, files: Arc<Files>) -> Self {
        let seen = Arc::<Seen>::default();
        let view = |config: &Arc<Config>, agents| Self {
            generation,
            config: Arc::clone(config),
            config_version: version.clone(),
            files: Arc::clone(&files),
            seen: Arc::clone(&seen),
            menus: Mutex::default(),
            prompts: OnceLock::new(),
            agents,
        };
        let agents = config.others.values().map(|other| Arc::new(view(other, Vec::new()))).collect();
        view(&config, agents)
    }

    /// The same moment as `agent` sees it, under its own configuration; without a name, as the first agent does. Where
    /// there are no other agents, any name is one of the first.
    ///
    /// # Errors
    /// [`ResolutionError::UnknownAgent`] if there are other agents, and none is called that.
    pub fn of_agent(self: &Arc<Self>, agent: Option<&str>) -> Result<Arc<Self>, WorkspaceError> {
        let Some(name) = agent.filter(|_| self.config.roster.has_company()) else {
            return Ok(Arc::clone(self));
        };
        let roster = &self.config.roster;
        let Some(member) = roster.find(name) else {
            let near =
                did_you_mean(name, roster.members().iter().map(|member| &*member.name)).map(str::to_owned);
            let unknown =
                ResolutionError::UnknownAgent { name: name.to_owned(), known: roster.names(), near };
            return Err(unknown.into());
        };
        let is_its = |view: &&Arc<Self>| view.config.agent.name == member.name;
        Ok(Arc::clone(self.agents.iter().find(is_its).unwrap_or(self)))
    }

    /// The same moment as each agent sees it, the first one first.
    pub fn of_all_agents(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::once(self).chain(&self.agents)
    }

    /// What all snapshots of this workspace share.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Whether the file at `path` below the workspace was read under this snapshot.
    pub(crate) fn was_read(&self, path: &str) -> bool {
        unpoisoned(&self.seen.read).get(path).is_some_and(Result::is_ok)
    }

    /// The file at `path` below the workspace.
    ///
    /// # Errors
    /// If it can't be read; that, too, stays as it was.
    pub fn file(&self, path: &str) -> Result<FileText, WorkspaceError> {
        if let Some(known) = unpoisoned(&self.seen.read).get(path) {
            return known.clone();
        }
        let result = self.files.cache.read(&self.files.root, path);
        unpoisoned(&self.seen.read).entry(path.into()).or_insert(result).clone()
    }

    /// The path at which the file that prompts call `path` is for this agent: in its own folder if it is there, else in the
    /// workspace. Only looks for it: what the file needs is to be asked for the path that is given.
    #[must_use]
    pub fn place_of(&self, path: &str) -> String {
        let Some(own) = self.config.own_path(path) else { return path.to_owned() };
        let is_missing = |known: &Result<FileText, WorkspaceError>| {
            known.as_ref().is_err_and(WorkspaceError::is_missing_file)
        };
        let known = unpoisoned(&self.seen.read).get(own.as_str()).map(is_missing);
        let missing = known.unwrap_or_else(|| {
            let missing = self.files.root.locate(&own).is_err_and(|error| error.is_missing_file());
            if missing {
                // So that it is noticed when it comes to be there.
                let _ = self.file(&own);
            }
            missing
        });
        if missing { path.to_owned() } else { own }
    }

    /// The tokens of a file's text.
    #[must_use]
    pub fn tokens(&self, counter: Counter, file: &FileText) -> usize {
        self.files.tokens(counter, file.hash, &file.text)
    }

    /// The menu lines of every store that `trust` opens. Nothing of the others is read.
    #[must_use]
    pub fn menu(&self, trust: Trust, counter: Counter) -> Arc<[MenuEntry]> {
        let key = (trust.as_str(), counter);
        if let Some(known) = unpoisoned(&self.menus).get(&key) {
            return Arc::clone(known);
        }
        let access = MemoryAccess { trust, rules: &self.config.file_rules };
        let loaded = load_permitted(&self.files.root, &self.files.cache, access);
        let entries: Arc<[MenuEntry]> = loaded
            .items
            .iter()
            // A path that has to be escaped could not be called as it is written.
            .filter(|file| single_line(&file.path, usize::MAX) == file.path)
            .map(|file| MenuEntry {
                path: file.path.as_str().into(),
                tokens: self.files.tokens(counter, file.hash, &file.text),
                description: file.description.as_str().into(),
            })
            .collect();
        Arc::clone(unpoisoned(&self.menus).entry(key).or_insert(entries))
    }

    /// The skills for everybody.
    pub fn skills(&self) -> &Loaded<Skill> {
        self.seen.skills.get_or_init(|| load_skills(&self.files.root, &self.files.cache))
    }

    /// The skills of one user.
    #[must_use]
    pub fn user_skills(&self, user: &str) -> Arc<Loaded<Skill>> {
        let mut known = unpoisoned(&self.seen.user_skills);
        let load = || Arc::new(load_user_skills(&self.files.root, &self.files.cache, user));
        Arc::clone(known.entry(user.into()).or_insert_with(load))
    }

    /// The workflows.
    pub fn workflows(&self) -> &Loaded<Workflow> {
        self.seen.workflows.get_or_init(|| load_workflows(&self.files.root, &self.files.cache))
    }

    /// The prompt files of the agent.
    ///
    /// # Errors
    /// If there is no prompts root.
    pub fn prompt_store(&self, place: &Place) -> Result<Arc<PromptStore>, WorkspaceError> {
        self.prompts.get_or_init(|| place.open_prompt_store(&self.config).map(Arc::new)).clone()
    }

    /// Whether a file that was read through this snapshot is different now. The configuration is no such file.
    #[must_use]
    pub fn files_differ(&self, place: &Place) -> bool {
        let version = self.config_version.clone();
        let now = Self::new(self.generation, Arc::clone(&self.config), version, Arc::clone(&self.files));
        let read = unpoisoned(&self.seen.read).clone();
        read.iter().any(|(path, then)| differs(then, &now.file(path)))
            || self.lists_differ(&now)
            || self.own_differ(&now, place)
            || self.agents.iter().zip(&now.agents).any(|(then, now)| then.own_differ(now, place))
    }

    /// Whether what is read for one agent is different now.
    fn own_differ(&self, now: &Self, place: &Place) -> bool {
        let prompts_differ = match self.prompts.get() {
            Some(Ok(store)) => store.is_stale(),
            // A root that was missing may be there now; only opening it again tells.
            Some(Err(then)) => place.open_prompt_store(&self.config).err().as_ref() != Some(then),
            None => false,
        };
        let menus = unpoisoned(&self.menus).clone();
        let menu_differs = |(key, then): (&(&'static str, Counter), &Arc<[MenuEntry]>)| {
            now.menu(Trust::from_word(key.0), key.1) != *then
        };
        prompts_differ || menus.iter().any(menu_differs)
    }

    fn lists_differ(&self, now: &Self) -> bool {
        let seen = &self.seen;
        seen.skills.get().is_some_and(|then| then != now.skills())
            || seen.workflows.get().is_some_and(|then| then != now.workflows())
            || unpoisoned(&seen.user_skills).iter().any(|(user, then)| now.user_skills(user) != *then)
    }
}

fn differs(then: &Result<FileText, WorkspaceError>, now: &Result<FileText, WorkspaceError>) -> bool {
    match (then, now) {
        (Ok(then), Ok(now)) => then.hash != now.hash,
        (then, now) => then != now,
    }
}

/// What a poisoned lock guards here is only a memo: the next reader fills it again.
fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
