//! An immutable view of a workspace: each file keeps the version that was first read, so that a prompt never mixes two
//! versions of a file. Files are read lazily, and only if trust permits.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::menu::{MenuEntry, MenuLines};
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::is_single_line;
use parking_lot::Mutex;
use quick_cache::sync::Cache;

use crate::config::Config;
use crate::error::{ResolutionError, WorkspaceError};
use crate::loaded::Loaded;
use crate::memory_files::{MemoryAccess, visit_permitted};
use crate::memory_index::FileIndexes;
use crate::prompt_store::PromptStore;
use crate::roots::{FileText, Root};
use crate::skills::{Skill, load_skills, load_user_skills};
use crate::text_pool::FileCache;
use crate::workflows::{Workflow, load_workflows};
use crate::workspace::WorkspaceDir;

/// State shared by all snapshots of a workspace: the directory handle and caches by content.
#[derive(Debug)]
pub struct Files {
    /// The workspace's directory.
    pub root: Root,
    /// Cached file texts by version.
    pub cache: Arc<FileCache>,
    /// Token counts, by content.
    counts: Cache<(Tokenizer, ContentHash), usize>,
    /// The search indexes of the memory files, as of the last search.
    pub(crate) memory: FileIndexes,
}

impl Files {
    /// The files below `root`.
    #[must_use]
    pub fn new(root: Root, cache: Arc<FileCache>) -> Self {
        Self { root, cache, counts: Cache::new(200_000), memory: FileIndexes::default() }
    }

    /// The tokens of a text, cached by content hash.
    #[must_use]
    pub fn tokens(&self, counter: Tokenizer, hash: ContentHash, text: &str) -> usize {
        if let Some(known) = self.counts.get(&(counter, hash)) {
            return known;
        }
        let tokens = counter.get().count(text);
        self.counts.insert((counter, hash), tokens);
        tokens
    }
}

/// A version of `foreword.yaml`: the hash of its text, or the reason why it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigVersion {
    /// The hash of its text.
    pub text: Result<ContentHash, WorkspaceError>,
    /// Why it was rejected, if it was.
    pub refused: Option<WorkspaceError>,
}

/// The menu lines of a memory store.
type StoreMenu = BTreeMap<(&'static str, Tokenizer), Arc<MenuLines>>;

/// A workspace at one point in time.
#[derive(Debug)]
pub struct Snapshot {
    /// Identifies the snapshot.
    pub generation: u64,
    /// The configuration.
    pub config: Arc<Config>,
    /// The `foreword.yaml` that was last read; if it was rejected, `config` is from an earlier one.
    pub(crate) config_version: ConfigVersion,
    files: Arc<Files>,
    seen: Arc<FilesRead>,
    menus: Mutex<StoreMenu>,
    prompts: OnceLock<Result<Arc<PromptStore>, WorkspaceError>>,
    /// The same snapshot under the configuration of each other agent.
    agents: Vec<Arc<Snapshot>>,
}

/// The files read, shared by all agents.
#[derive(Debug, Default)]
struct FilesRead {
    read: Mutex<BTreeMap<Box<str>, Result<FileText, WorkspaceError>>>,
    skills: OnceLock<Loaded<Skill>>,
    user_skills: Mutex<BTreeMap<Box<str>, Arc<Loaded<Skill>>>>,
    workflows: OnceLock<Loaded<Workflow>>,
}

impl Snapshot {
    /// A new snapshot under `config`.
    #[must_use]
    pub fn new(generation: u64, config: Arc<Config>, version: ConfigVersion, files: Arc<Files>) -> Self {
        let seen = Arc::<FilesRead>::default();
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

    /// This snapshot under the configuration of `agent`; `None` means the first agent. In a workspace with one agent,
    /// every name means that agent.
    ///
    /// # Errors
    /// [`ResolutionError::UnknownAgent`] if there are several agents, and none has this name.
    pub fn of_agent(self: &Arc<Self>, agent: Option<&str>) -> Result<Arc<Self>, WorkspaceError> {
        let Some(name) = agent.filter(|_| self.config.roster.has_several()) else {
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

    /// This snapshot under the configuration of each agent, the first agent first.
    pub fn of_all_agents(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::once(self).chain(&self.agents)
    }

    /// The state shared by all snapshots of this workspace.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Whether the file at `path` below the workspace was read under this snapshot.
    pub(crate) fn was_read(&self, path: &str) -> bool {
        self.seen.read.lock().get(path).is_some_and(Result::is_ok)
    }

    /// The file at `path` below the workspace.
    ///
    /// # Errors
    /// If it cannot be read. The error is cached too.
    pub fn file(&self, path: &str) -> Result<FileText, WorkspaceError> {
        if let Some(known) = self.seen.read.lock().get(path) {
            return known.clone();
        }
        let result = self.files.cache.read(&self.files.root, path);
        self.seen.read.lock().entry(path.into()).or_insert(result).clone()
    }

    /// The path of the prompt file `path` for this agent: in its own folder if the file exists there, otherwise in the
    /// workspace. Only locates the file; check the trust for the returned path.
    #[must_use]
    pub fn place_of(&self, path: &str) -> String {
        let Some(own) = self.config.own_path(path) else { return path.to_owned() };
        let is_missing = |known: &Result<FileText, WorkspaceError>| {
            known.as_ref().is_err_and(WorkspaceError::is_missing_file)
        };
        let known = self.seen.read.lock().get(own.as_str()).map(is_missing);
        let missing = known.unwrap_or_else(|| {
            let missing = self.files.root.locate(&own).is_err_and(|error| error.is_missing_file());
            if missing {
                // Read, so that its creation is detected later.
                let _ = self.file(&own);
            }
            missing
        });
        if missing { path.to_owned() } else { own }
    }

    /// The paths below the workspace that were read through this snapshot, missing files included.
    pub(crate) fn paths_read(&self) -> Vec<Box<str>> {
        self.seen.read.lock().keys().cloned().collect()
    }

    /// The tokens of a file's text.
    #[must_use]
    pub fn tokens(&self, counter: Tokenizer, file: &FileText) -> usize {
        self.files.tokens(counter, file.hash, &file.text)
    }

    /// The menu lines of every store that `trust` permits. Reads no other store.
    #[must_use]
    pub fn menu(&self, trust: Trust, counter: Tokenizer) -> Arc<MenuLines> {
        let key = (trust.as_str(), counter);
        if let Some(known) = self.menus.lock().get(&key) {
            return Arc::clone(known);
        }
        let access = MemoryAccess { trust, rules: &self.config.file_rules };
        let mut entries = Vec::new();
        visit_permitted(&self.files.root, &self.files.cache, access, |file| {
            // A path that needs escaping could not be passed to a tool as written.
            if is_single_line(&file.path) {
                let tokens = self.files.tokens(counter, file.hash, &file.text);
                entries.push(MenuEntry {
                    path: file.path.into(),
                    tokens,
                    description: file.description.into(),
                });
            }
        });
        let lines = Arc::new(MenuLines::new(entries, counter.get()));
        Arc::clone(self.menus.lock().entry(key).or_insert(lines))
    }

    /// The common skills.
    pub fn skills(&self) -> &Loaded<Skill> {
        self.seen.skills.get_or_init(|| load_skills(&self.files.root, &self.files.cache))
    }

    /// The skills of one user.
    #[must_use]
    pub fn user_skills(&self, user: &str) -> Arc<Loaded<Skill>> {
        let mut known = self.seen.user_skills.lock();
        let load = || Arc::new(load_user_skills(&self.files.root, &self.files.cache, user));
        Arc::clone(known.entry(user.into()).or_insert_with(load))
    }

    /// The workflows.
    pub fn workflows(&self) -> &Loaded<Workflow> {
        self.seen.workflows.get_or_init(|| load_workflows(&self.files.root, &self.files.cache))
    }

    /// The agent's prompt files.
    ///
    /// # Errors
    /// If the prompts root does not exist.
    pub fn prompt_store(&self, dir: &WorkspaceDir) -> Result<Arc<PromptStore>, WorkspaceError> {
        self.prompts.get_or_init(|| dir.open_prompt_store(&self.config).map(Arc::new)).clone()
    }

    /// Whether a file read through this snapshot has changed. The configuration is not included.
    #[must_use]
    pub fn files_differ(&self, dir: &WorkspaceDir) -> bool {
        let version = self.config_version.clone();
        let now = Self::new(self.generation, Arc::clone(&self.config), version, Arc::clone(&self.files));
        let read = self.seen.read.lock().clone();
        read.iter().any(|(path, then)| differs(then, &now.file(path)))
            || self.lists_differ(&now)
            || self.own_differ(&now, dir)
            || self.agents.iter().zip(&now.agents).any(|(then, now)| then.own_differ(now, dir))
    }

    /// Whether a file read for one agent has changed.
    fn own_differ(&self, now: &Self, dir: &WorkspaceDir) -> bool {
        let prompts_differ = match self.prompts.get() {
            Some(Ok(store)) => store.is_stale(),
            // A missing root may exist now; only opening it tells.
            Some(Err(then)) => dir.open_prompt_store(&self.config).err().as_ref() != Some(then),
            None => false,
        };
        let menus = self.menus.lock().clone();
        let menu_differs = |(key, then): (&(&'static str, Tokenizer), &Arc<MenuLines>)| {
            now.menu(Trust::from_word(key.0), key.1) != *then
        };
        prompts_differ || menus.iter().any(menu_differs)
    }

    fn lists_differ(&self, now: &Self) -> bool {
        let seen = &self.seen;
        seen.skills.get().is_some_and(|then| then != now.skills())
            || seen.workflows.get().is_some_and(|then| then != now.workflows())
            || seen.user_skills.lock().iter().any(|(user, then)| now.user_skills(user) != *then)
    }
}

fn differs(then: &Result<FileText, WorkspaceError>, now: &Result<FileText, WorkspaceError>) -> bool {
    match (then, now) {
        (Ok(then), Ok(now)) => then.hash != now.hash,
        (then, now) => then != now,
    }
}
