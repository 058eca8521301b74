//! A workspace: a directory, its configuration, and the prompts it gives. Holds the current snapshot and swaps it when
//! files have changed; a bad configuration never replaces a good one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use foreword_core::models::Factor;
use foreword_prompt::layer::Dialect;
use foreword_prompt::occasion::Channel;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use jiff::Zoned;
use jiff::tz::TimeZone;
use quick_cache::sync::Cache;

use crate::build::{self, Built};
use crate::config::{CONFIG_FILE, Config, HomePaths};
use crate::error::WorkspaceError;
use crate::prompt_store::{PromptStore, TemplateCache};
use crate::prompts_root::PromptsDir;
use crate::request::{Request, ToolsOf, moment};
use crate::roots::Root;
use crate::snapshot::{ConfigVersion, Files, Snapshot};
use crate::text_pool::{FileCache, PoolLimits, TextPool};

/// How many bytes of files are kept in memory.
const KEPT_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// How many prompts are kept ready.
const KEPT_PROMPTS: usize = 1_024;

/// What the program's environment says; read by the binary and handed in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `FOREWORD_PROMPTS_DIR`.
    pub prompts_dir: Option<OsString>,
    /// The home directory, which `~/` in a configured path stands for.
    pub home: Option<PathBuf>,
}

/// Where a workspace is, and what all its snapshots share.
#[derive(Debug)]
pub struct Place {
    directory: PathBuf,
    environment: Environment,
    file_cache: Arc<FileCache>,
    pub(crate) templates: Arc<TemplateCache>,
}

impl Place {
    /// The working directory of a request.
    pub(crate) fn cwd(&self, request: &Request) -> PathBuf {
        request.cwd.as_ref().map_or_else(|| self.directory.clone(), |cwd| self.directory.join(cwd))
    }

    pub(crate) fn cwd_name(&self, request: &Request) -> String {
        self.cwd(request).to_string_lossy().into_owned()
    }

    /// Where below the workspace `path` is, if it is there: files are then known by that path, whichever way they were
    /// reached.
    pub(crate) fn below_workspace(&self, path: &Path) -> Option<String> {
        let (path, workspace) = (path.canonicalize().ok()?, self.directory.canonicalize().ok()?);
        let below = path.strip_prefix(workspace).ok()?;
        Some(below.to_string_lossy().into_owned())
    }

    pub(crate) fn cwd_root(&self, request: &Request) -> Result<Root, WorkspaceError> {
        Root::open_for("working directory", &self.cwd(request), "the working directory")
    }

    /// The prompt files of an agent, as configured.
    pub(crate) fn open_prompt_store(&self, config: &Config) -> Result<PromptStore, WorkspaceError> {
        let directory = PromptsDir::choose(
            config.prompt.prompts_dir.as_deref(),
            self.environment.prompts_dir.as_deref(),
        )?;
        let root = directory.open(&self.directory)?;
        Ok(PromptStore::new(root, Arc::clone(&self.file_cache), Arc::clone(&self.templates)))
    }
}

/// What decides a prompt under one snapshot, but for the time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PromptKey {
    generation: u64,
    user: Option<Arc<str>>,
    channel: Option<Channel>,
    /// Who speaks there: in one channel there may be several.
    sender: Option<Channel>,
    situation: Option<Arc<str>>,
    agent: Option<Arc<str>>,
    model: Option<Arc<str>>,
    conversation: Option<Arc<str>>,
    cwd: Option<PathBuf>,
    session_instructions: Option<Arc<str>>,
    history_tokens: usize,
    calibration: Option<Factor>,
    audience: Option<Trust>,
    strangers: Trust,
    more_tools: Option<ContentHash>,
    tools_of: ToolsOf,
    stored: Option<ContentHash>,
}

impl PromptKey {
    fn of(snapshot: &Snapshot, request: &Request) -> Self {
        Self {
            generation: snapshot.generation,
            user: request.user.clone(),
            channel: request.channel.clone(),
            sender: request.sender.clone(),
            situation: request.situation.clone(),
            agent: request.agent.clone(),
            model: request.model.clone(),
            conversation: request.conversation.clone(),
            cwd: request.cwd.clone(),
            session_instructions: request.session_instructions.clone(),
            history_tokens: request.history_to_the_next_step(),
            calibration: request.calibration,
            audience: request.audience,
            strangers: request.strangers,
            more_tools: (!request.more_tools.is_empty()).then(|| build::tools_hash(&request.more_tools)),
            tools_of: request.tools_of,
            stored: request.stored.as_ref().map(|stored| stored.identity()),
        }
    }
}

/// A prompt that can be handed out again, and the minute its clock shows.
#[derive(Debug, Clone)]
struct Ready {
    built: Arc<Built>,
    minute: i64,
    zone: TimeZone,
}

impl Ready {
    fn new(built: Arc<Built>, now: &Zoned) -> Self {
        Self { built, minute: minute(now), zone: now.time_zone().clone() }
    }

    fn shows(&self, now: &Zoned) -> bool {
        self.minute == minute(now) && self.zone == *now.time_zone()
    }

    /// The prompt with its clock set to `now`, or `None` if it has to be built again for that.
    fn at(&self, now: &Zoned) -> Option<Self> {
        let mut occasion = self.built.occasion.clone();
        occasion.now = moment(now);
        let counter = self.built.model.as_ref().map_or_else(Default::default, |model| model.tokenizer);
        let prompt = self.built.prompt.at_time(&occasion, counter.get())?;
        let (dependencies, model) = (self.built.dependencies.clone(), self.built.model.clone());
        let (stored, repeatable) = (Arc::clone(&self.built.stored), self.built.repeatable);
        Some(Self::new(Arc::new(Built { prompt, occasion, dependencies, model, stored, repeatable }), now))
    }
}

fn minute(now: &Zoned) -> i64 {
    now.timestamp().as_second().div_euclid(60)
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
    place: Place,
    files: Arc<Files>,
    current: ArcSwap<Snapshot>,
    ready: Cache<PromptKey, Ready>,
    /// One look for changes at a time: two snapshots of one generation would share what is kept ready.
    refreshing: Mutex<()>,
}

/// What [`Workspace::refresh`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refreshed {
    /// Nothing has changed.
    Unchanged,
    /// The workspace has changed; from now on prompts are made from the new files. If no section has changed and no file,
    /// a configuration that was refused has been taken back.
    Changed {
        /// The sections of the configuration that say something else than before, in the order of the manual.
        sections: Vec<&'static str>,
        /// Whether files other than the configuration have changed.
        files: bool,
    },
    /// The configuration has changed and is refused: the old one stays in force. Told once for each bad version. Other
    /// files that have changed are the new ones from now on.
    Refused(WorkspaceError),
}

impl Workspace {
    /// The workspace in `directory`, which needs no `foreword.yaml` to be one.
    ///
    /// # Errors
    /// If there is no such directory, or its configuration is refused.
    pub fn open(directory: &Path, environment: Environment) -> Result<Self, WorkspaceError> {
        let root = Root::open("workspace", directory)?;
        let pool = Arc::new(TextPool::new(PoolLimits::default()));
        let file_cache = Arc::new(FileCache::new(pool, KEPT_FILE_BYTES));
        let files = Arc::new(Files::new(root, Arc::clone(&file_cache)));
        let written = config_text(&files);
        let version = ConfigVersion { text: hash(&written), refused: false };
        let home = HomePaths { home: environment.home.clone(), workspace: directory.to_owned() };
        let config = Arc::new(parse(written, &home)?);
        let place = Place {
            directory: directory.to_owned(),
            environment,
            file_cache,
            templates: Arc::new(TemplateCache::default()),
        };
        let current = ArcSwap::from_pointee(Snapshot::new(0, config, version, Arc::clone(&files)));
        Ok(Self { place, files, current, ready: Cache::new(KEPT_PROMPTS), refreshing: Mutex::default() })
    }

    /// The workspace as it is known now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The directory it is in.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.place.directory
    }

    /// Where it is, for what reads beside the snapshot.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The prompt for a request. When it was made before and nothing it depends on has changed, the frozen text is the
    /// same allocation, and only the clock is put into words again.
    ///
    /// # Errors
    /// If a file it needs can't be read, a template fails, or it can't be made to fit.
    pub fn build(&self, request: &Request) -> Result<Arc<Built>, WorkspaceError> {
        let snapshot = self.current.load();
        if let Some(ready) = self.ready_under(&snapshot, request) {
            return Ok(ready);
        }
        let view = snapshot.of_agent(request.agent.as_deref())?;
        let built = Arc::new(build::build(&view, &self.place, request)?);
        if built.repeatable && request.context.is_empty() {
            let key = PromptKey::of(&snapshot, request);
            self.ready.insert(key, Ready::new(Arc::clone(&built), &request.now));
        }
        Ok(built)
    }

    /// The same for somebody who tries something out: neither taken from what is kept ready nor kept, where it would push out
    /// what others come back for.
    ///
    /// # Errors
    /// As [`Workspace::build`].
    pub fn build_once(&self, request: &Request) -> Result<Arc<Built>, WorkspaceError> {
        let view = self.current.load().of_agent(request.agent.as_deref())?;
        Ok(Arc::new(build::build(&view, &self.place, request)?))
    }

    /// The same, if it takes no time: the prompt was made before. `None` says nothing about whether it can be made.
    #[must_use]
    pub fn ready(&self, request: &Request) -> Option<Arc<Built>> {
        self.ready_under(&self.current.load(), request)
    }

    fn ready_under(&self, snapshot: &Snapshot, request: &Request) -> Option<Arc<Built>> {
        if !request.context.is_empty() {
            return None;
        }
        let key = PromptKey::of(snapshot, request);
        let ready = self.ready.get(&key)?;
        if ready.shows(&request.now) {
            return Some(ready.built);
        }
        let ready = ready.at(&request.now)?;
        self.ready.insert(key, ready.clone());
        Some(ready.built)
    }

    /// Looks whether files have changed, and if so starts a new snapshot.
    pub fn refresh(&self) -> Refreshed {
        let _alone = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.current.load_full();
        let written = config_text(&self.files);
        let text = hash(&written);
        let files = current.files_differ(&self.place);
        if text == current.config_version.text {
            if !files {
                return Refreshed::Unchanged;
            }
            self.swap(&current, Arc::clone(&current.config), current.config_version.clone());
            return Refreshed::Changed { sections: Vec::new(), files };
        }
        match parse(written, &current.config.home) {
            Ok(config) => {
                let sections = current.config.sections.changed(&config.sections);
                let told = !sections.is_empty() || files || current.config_version.refused;
                self.swap(&current, Arc::new(config), ConfigVersion { text, refused: false });
                if told { Refreshed::Changed { sections, files } } else { Refreshed::Unchanged }
            }
            Err(error) => {
                self.swap(&current, Arc::clone(&current.config), ConfigVersion { text, refused: true });
                Refreshed::Refused(error)
            }
        }
    }

    fn swap(&self, current: &Snapshot, config: Arc<Config>, version: ConfigVersion) {
        let next = Snapshot::new(current.generation + 1, config, version, Arc::clone(&self.files));
        self.current.store(Arc::new(next));
    }

    /// A template rendered once, outside any blueprint, at the owner's trust. Jinja includes come from `folder`.
    ///
    /// # Errors
    /// If it does not parse or render.
    pub fn render_template(
        &self,
        name: &str,
        text: Arc<str>,
        dialect: Dialect,
        (folder, request): (Option<&Root>, &Request),
    ) -> Result<build::Rendered, WorkspaceError> {
        let template = build::Once { name, text, dialect, folder };
        let view = self.current.load().of_agent(request.agent.as_deref())?;
        build::render_once(&view, &self.place, request, template)
    }
}

/// The text of `foreword.yaml`; that of a missing one is empty.
fn config_text(files: &Files) -> Result<Arc<str>, WorkspaceError> {
    match files.cache.read(&files.root, CONFIG_FILE) {
        Ok(file) => Ok(file.text),
        Err(error) if error.is_missing_file() => Ok("".into()),
        Err(error) => Err(error),
    }
}

fn hash(written: &Result<Arc<str>, WorkspaceError>) -> Result<ContentHash, WorkspaceError> {
    written.as_ref().map(|text| ContentHash::of(text)).map_err(Clone::clone)
}

fn parse(written: Result<Arc<str>, WorkspaceError>, home: &HomePaths) -> Result<Config, WorkspaceError> {
    Config::parse_at(CONFIG_FILE, &written?, home).map_err(WorkspaceError::Config)
}
