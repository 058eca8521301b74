//! A workspace: a directory, its configuration and its prompts. Holds the current snapshot and replaces it when files
//! change; an invalid configuration never replaces a valid one.

mod prompt_cache;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use foreword_prompt::text::ContentHash;
use parking_lot::Mutex;
use quick_cache::sync::Cache;

use self::prompt_cache::{CachedPrompt, PromptKey};
use crate::build::{self, Built};
use crate::config::{Config, HomePaths};
use crate::config_file;
use crate::error::WorkspaceError;
use crate::prompt_store::{PromptStore, TemplateCache};
use crate::prompts_root::PromptsDir;
use crate::request::{Request, SourcePolicy};
use crate::roots::Root;
use crate::snapshot::{ConfigVersion, Files, Snapshot};
use crate::text_pool::{FileCache, PoolLimits, TextPool};
use crate::variables::template_files::TemplateFiles;

/// The size of the file cache in bytes.
const FILE_CACHE_CAPACITY: u64 = 256 * 1024 * 1024;
/// The maximum number of cached prompts.
const PROMPT_CACHE_CAPACITY: usize = 1_024;

/// Values from the program's environment. The binary reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `FOREWORD_PROMPTS_DIR`.
    pub prompts_dir: Option<OsString>,
    /// The home directory, for `~/` in configured paths.
    pub home: Option<PathBuf>,
}

/// A workspace directory and the caches that all its snapshots share.
#[derive(Debug)]
pub struct WorkspaceDir {
    directory: PathBuf,
    environment: Environment,
    file_cache: Arc<FileCache>,
    pub(crate) templates: Arc<TemplateCache>,
}

impl WorkspaceDir {
    pub(crate) fn home(&self) -> Option<&Path> {
        self.environment.home.as_deref()
    }

    /// The working directory of a request.
    pub(crate) fn cwd(&self, request: &Request) -> PathBuf {
        request.cwd.as_ref().map_or_else(|| self.directory.clone(), |cwd| self.directory.join(cwd))
    }

    pub(crate) fn cwd_name(&self, request: &Request) -> String {
        self.cwd(request).to_string_lossy().into_owned()
    }

    /// The path of `path` relative to the workspace, if it is below it. Files have this path regardless of how they
    /// were reached.
    pub(crate) fn below_workspace(&self, path: &Path) -> Option<String> {
        let (path, workspace) = (path.canonicalize().ok()?, self.directory.canonicalize().ok()?);
        let below = path.strip_prefix(workspace).ok()?;
        Some(below.to_string_lossy().into_owned())
    }

    pub(crate) fn cwd_root(&self, request: &Request) -> Result<Root, WorkspaceError> {
        Root::open_for("working directory", &self.cwd(request), "the working directory")
    }

    /// The files that `[file:…]` tags of a template can read.
    pub(crate) fn template_files(
        &self,
        request: &Request,
        config: &Config,
    ) -> Result<TemplateFiles, WorkspaceError> {
        TemplateFiles::new(self.cwd_root(request)?, config)
    }

    /// As `template_files`, for a template checked outside any conversation: the working directory is the workspace.
    pub(crate) fn template_files_of_workspace(
        &self,
        config: &Config,
    ) -> Result<TemplateFiles, WorkspaceError> {
        TemplateFiles::new(Root::open("working directory", &self.directory)?, config)
    }

    /// The path of the prompts root, if it is valid.
    pub(crate) fn prompts_path(&self, config: &Config) -> Option<PathBuf> {
        Some(self.directory.join(self.prompts_dir(config).ok()?.path))
    }

    fn prompts_dir(&self, config: &Config) -> Result<PromptsDir, WorkspaceError> {
        let (configured, environment) =
            (config.prompt.prompts_dir.as_deref(), self.environment.prompts_dir.as_deref());
        PromptsDir::choose(configured, environment)
    }

    /// The name of the prompts root: relative to the workspace if it is below it, otherwise its path.
    pub(crate) fn prompts_folder(&self, config: &Config) -> Result<String, WorkspaceError> {
        let path = self.directory.join(self.prompts_dir(config)?.path);
        let below = path.strip_prefix(&self.directory).map(ToOwned::to_owned);
        Ok(self
            .below_workspace(&path)
            .unwrap_or_else(|| below.unwrap_or(path).to_string_lossy().into_owned()))
    }

    /// Opens the prompt files of an agent, as configured.
    pub(crate) fn open_prompt_store(&self, config: &Config) -> Result<PromptStore, WorkspaceError> {
        let root = self.prompts_dir(config)?.open(&self.directory)?;
        Ok(PromptStore::new(root, Arc::clone(&self.file_cache), Arc::clone(&self.templates)))
    }
}

/// A directory of prompts.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// use foreword_workspace::request::Request;
/// use foreword_workspace::workspace::{Environment, Workspace};
///
/// std::fs::write(folder.path().join("SOUL.md"), "You are kind.")?;
/// let workspace = Workspace::open(folder.path(), Environment::default())?;
/// let built = workspace.build(&Request::at(jiff::Zoned::now(), [7; 16]))?;
/// assert!(built.prompt.frozen.text.contains("You are kind."));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Workspace {
    dir: WorkspaceDir,
    files: Arc<Files>,
    current: ArcSwap<Snapshot>,
    /// Whether a `foreword.yaml` was ever read. From then on a missing file is an error.
    has_config: AtomicBool,
    ready: Cache<PromptKey, CachedPrompt>,
    /// Serialises refreshes: two snapshots with the same generation would share cached prompts.
    refreshing: Mutex<()>,
}

/// The result of [`Workspace::refresh`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefreshOutcome {
    /// Nothing has changed.
    Unchanged,
    /// The workspace has changed; new prompts use the new files. If neither a section nor a file has changed, a
    /// rejected configuration was reverted.
    Changed {
        /// The changed sections of the configuration, in the order of the manual.
        sections: Vec<&'static str>,
        /// Whether files other than the configuration have changed.
        files: bool,
    },
    /// The new configuration is rejected, and the old one stays in force. Returned once for each invalid version. Other
    /// changed files are used from now on.
    Refused(WorkspaceError),
}

impl Workspace {
    /// Opens the workspace in `directory`. A `foreword.yaml` is optional, unless the workspace had one before.
    ///
    /// # Errors
    /// If the directory does not exist, or its configuration is invalid.
    pub fn open(directory: &Path, environment: Environment) -> Result<Self, WorkspaceError> {
        let root = Root::open("workspace", directory)?;
        let pool = Arc::new(TextPool::new(PoolLimits::default()));
        let file_cache = Arc::new(FileCache::new(pool, FILE_CACHE_CAPACITY));
        let files = Arc::new(Files::new(root, Arc::clone(&file_cache)));
        let written = config_file::text(&files);
        let version = ConfigVersion { text: config_file::hash(&written), refused: None };
        let has_config = AtomicBool::new(config_file::was_configured(directory, &written));
        let home = HomePaths { home: environment.home.clone(), workspace: directory.to_owned() };
        let config = Arc::new(config_file::parse(written, &has_config, &home)?);
        let dir = WorkspaceDir {
            directory: directory.to_owned(),
            environment,
            file_cache,
            templates: Arc::new(TemplateCache::default()),
        };
        let current = ArcSwap::from_pointee(Snapshot::new(0, config, version, Arc::clone(&files)));
        let (ready, refreshing) = (Cache::new(PROMPT_CACHE_CAPACITY), Mutex::default());
        Ok(Self { dir, files, current, has_config, ready, refreshing })
    }

    /// The current snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Its directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.dir.directory
    }

    /// Records in `.foreword/` that the workspace has a `foreword.yaml`, if it has one: a process that starts after the
    /// file was lost then refuses to run with the defaults.
    ///
    /// # Errors
    /// If the record can't be written.
    pub fn record_configured(&self) -> io::Result<()> {
        config_file::record(&self.dir.directory)
    }

    /// Its directory with the shared caches.
    #[must_use]
    pub fn dir(&self) -> &WorkspaceDir {
        &self.dir
    }

    /// Builds the prompt for a request. If it is cached and nothing it depends on has changed, the frozen text is the
    /// same allocation, and only the time is formatted again.
    ///
    /// # Errors
    /// If a required file cannot be read, a template fails, or the prompt exceeds its budget.
    pub fn build(&self, request: &Request) -> Result<Arc<Built>, WorkspaceError> {
        let snapshot = self.current.load();
        if let Some(ready) = self.ready_under(&snapshot, request) {
            return Ok(ready);
        }
        self.check_available()?;
        let view = snapshot.of_agent(request.speaker.agent.as_deref())?;
        let built = Arc::new(build::build(&view, &self.dir, request)?);
        if built.repeatable && request.state.is_none() {
            let key = PromptKey::of(&snapshot, request);
            let key = if built.has_conversation_id { key.with_conversation(request) } else { key };
            self.ready.insert(key, CachedPrompt::new(Arc::clone(&built), &request.now));
        }
        Ok(built)
    }

    /// As [`Workspace::build`], but without the cache, for previews: they would evict prompts in use.
    ///
    /// # Errors
    /// As [`Workspace::build`].
    pub fn build_once(&self, request: &Request) -> Result<Arc<Built>, WorkspaceError> {
        self.check_available()?;
        let view = self.current.load().of_agent(request.speaker.agent.as_deref())?;
        Ok(Arc::new(build::build(&view, &self.dir, request)?))
    }

    /// The cached prompt for a request. `None` does not mean that it cannot be built.
    #[must_use]
    pub fn ready(&self, request: &Request) -> Option<Arc<Built>> {
        self.ready_under(&self.current.load(), request)
    }

    fn ready_under(&self, snapshot: &Snapshot, request: &Request) -> Option<Arc<Built>> {
        if request.state.is_some() {
            return None;
        }
        let mut key = PromptKey::of(snapshot, request);
        let ready = match self.ready.get(&key) {
            Some(ready) => ready,
            None => {
                key = key.with_conversation(request);
                self.ready.get(&key)?
            }
        };
        if request.sources == SourcePolicy::Require && !ready.built.sources.are_complete() {
            return None;
        }
        if ready.shows(&request.now) {
            return Some(ready.built);
        }
        let ready = ready.at(&request.now)?;
        self.ready.insert(key, ready.clone());
        Some(ready.built)
    }

    /// Checks that the directory is still at the path it was opened at.
    ///
    /// # Errors
    /// [`WorkspaceError::Unavailable`] if it was removed or replaced.
    pub fn check_available(&self) -> Result<(), WorkspaceError> {
        let gone = |reason| WorkspaceError::Unavailable { path: self.dir.directory.clone(), reason };
        self.files.root.check_in_place().map_err(gone)
    }

    /// Why the configuration in force differs from the one on disk, or that the directory is gone; as of the last
    /// [`Workspace::refresh`].
    #[must_use]
    pub fn problem(&self) -> Option<WorkspaceError> {
        self.current.load().config_version.refused.clone()
    }

    /// Checks for changed files, and starts a new snapshot if there are any. Reads nothing while the directory is
    /// missing.
    pub fn refresh(&self) -> RefreshOutcome {
        let _alone = self.refreshing.lock();
        let current = self.current.load_full();
        if let Err(gone) = self.check_available() {
            return self.refuse(&current, gone.clone(), Err(gone));
        }
        let written = match &current.config_version.text {
            Ok(_) => config_file::text_again(&self.files),
            Err(_) => config_file::text(&self.files),
        };
        let text = config_file::hash(&written);
        let files = current.files_differ(&self.dir);
        if text == current.config_version.text {
            if !files {
                return RefreshOutcome::Unchanged;
            }
            self.swap(&current, Arc::clone(&current.config), current.config_version.clone());
            return RefreshOutcome::Changed { sections: Vec::new(), files };
        }
        match config_file::parse_again(written, &self.has_config, &current.config) {
            Ok(config) => {
                let sections = current.config.sections.changed(&config.sections);
                let changed = !sections.is_empty() || files || current.config_version.refused.is_some();
                self.swap(&current, Arc::new(config), ConfigVersion { text, refused: None });
                if changed { RefreshOutcome::Changed { sections, files } } else { RefreshOutcome::Unchanged }
            }
            Err(error) => self.refuse(&current, error, text),
        }
    }

    /// Keeps the configuration in force and records the error; each version is reported once.
    fn refuse(
        &self,
        current: &Snapshot,
        error: WorkspaceError,
        text: Result<ContentHash, WorkspaceError>,
    ) -> RefreshOutcome {
        if text == current.config_version.text {
            return RefreshOutcome::Unchanged;
        }
        let version = ConfigVersion { text, refused: Some(error.clone()) };
        self.swap(current, Arc::clone(&current.config), version);
        RefreshOutcome::Refused(error)
    }

    fn swap(&self, current: &Snapshot, config: Arc<Config>, version: ConfigVersion) {
        let next = Snapshot::new(current.generation + 1, config, version, Arc::clone(&self.files));
        self.current.store(Arc::new(next));
    }

    /// Renders a template outside any blueprint, with the owner's trust.
    ///
    /// # Errors
    /// If it does not parse or render.
    pub fn render_template(
        &self,
        template: build::TemplateInput<'_>,
        request: &Request,
    ) -> Result<build::Rendered, WorkspaceError> {
        let view = self.current.load().of_agent(request.speaker.agent.as_deref())?;
        build::render_once(&view, &self.dir, request, template)
    }
}
