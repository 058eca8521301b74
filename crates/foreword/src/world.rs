//! What only the process knows: its environment, the time, chance, and where the workspace is.

use std::path::{Path, PathBuf};

use foreword_core::store_url::{BadStoreUrl, StoreUrl};
use foreword_workspace::config::CONFIG_FILE;
use foreword_workspace::prompts_root::PROMPTS_DIR_VARIABLE;
use foreword_workspace::workspace::{Environment, Workspace};
use jiff::Zoned;

use crate::failure::Failure;

/// Where the store is, if the environment says so.
pub(crate) const STORE_URL_VARIABLE: &str = "FOREWORD_STORE_URL";

/// What makes a directory a workspace: one of these is in it.
const MARKS: [&str; 2] = [CONFIG_FILE, ".foreword"];

/// Where the workspace is, if the environment says so.
const WORKSPACE_VARIABLE: &str = "FOREWORD_WORKSPACE";

/// What to do with a directory that is not marked as a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmarked {
    /// Commands that store or execute something refuse it.
    Refused,
    /// `--here`: it is to become one.
    Allowed,
}

/// The process's surroundings, read once.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) environment: Environment,
    pub(crate) now: Zoned,
    /// Unguessable bytes for marking text from outside.
    pub(crate) marker: [u8; 16],
    /// The directory the process runs in.
    pub(crate) current: PathBuf,
    /// `FOREWORD_STORE_URL`, which goes before the configuration: a password need not stand in a file.
    pub(crate) store_url: Option<Result<StoreUrl, BadStoreUrl>>,
    workspace: Option<PathBuf>,
    unmarked: Unmarked,
}

impl World {
    pub(crate) fn read(workspace: Option<&Path>, unmarked: Unmarked) -> Result<Self, Failure> {
        let current = std::env::current_dir().map_err(|error| {
            Failure::failed(format!("there is no current directory: {error}"), "change to one that exists")
        })?;
        let mut marker = [0; 16];
        getrandom::fill(&mut marker).map_err(|error| {
            Failure::failed(format!("no random numbers: {error}"), "check the operating system")
        })?;
        let environment = Environment { prompts_dir: std::env::var_os(PROMPTS_DIR_VARIABLE), home: home() };
        let store_url = std::env::var_os(STORE_URL_VARIABLE).filter(|url| !url.is_empty());
        let store_url =
            store_url.map(|url| url.to_str().ok_or(BadStoreUrl::Neither).and_then(StoreUrl::parse));
        let workspace = workspace.map(Path::to_owned);
        Ok(Self { environment, now: Zoned::now(), marker, current, store_url, workspace, unmarked })
    }

    /// Where the workspace is, or is to be.
    pub(crate) fn directory(&self) -> PathBuf {
        self.workspace.as_ref().map_or_else(|| self.current.clone(), |path| self.current.join(path))
    }

    /// The workspace's directory, if somebody has named one.
    pub(crate) fn named_workspace(&self) -> Option<PathBuf> {
        self.workspace.is_some().then(|| self.directory())
    }

    /// The same surroundings, but for the workspace in `directory`, which keeps to itself what it stores.
    pub(crate) fn elsewhere(&self, directory: &Path) -> Self {
        Self {
            environment: Environment { home: home(), ..Environment::default() },
            now: self.now.clone(),
            marker: self.marker,
            current: self.current.clone(),
            store_url: None,
            workspace: Some(directory.to_owned()),
            unmarked: self.unmarked,
        }
    }

    /// Refuses a directory that nobody has made a workspace: an agent there would be anybody's, with every tool.
    pub(crate) fn require_workspace(&self) -> Result<(), Failure> {
        let directory = self.directory();
        let is_marked = MARKS.iter().any(|mark| directory.join(mark).exists());
        if is_marked || self.unmarked == Unmarked::Allowed {
            return Ok(());
        }
        Err(Failure::failed(
            format!(
                "`{}` is not a workspace: it has neither `{CONFIG_FILE}` nor `.foreword/`",
                directory.display()
            ),
            "make one with `foreword init`, name one with `--workspace DIR`, or use this directory with `--here`",
        ))
    }

    /// What to say if the environment names another workspace than the one the process runs in.
    pub(crate) fn overridden_by_environment(&self) -> Option<String> {
        let named = self.workspace.as_ref()?;
        if std::env::var_os(WORKSPACE_VARIABLE).as_deref() != Some(named.as_os_str())
            || !self.current.join(CONFIG_FILE).is_file()
        {
            return None;
        }
        let directory = self.directory();
        let is_same = match (directory.canonicalize(), self.current.canonicalize()) {
            (Ok(directory), Ok(current)) => directory == current,
            _ => false,
        };
        (!is_same).then(|| {
            format!(
                "`{WORKSPACE_VARIABLE}` names the workspace `{}`; the `{CONFIG_FILE}` in the current directory is not used",
                directory.display()
            )
        })
    }

    /// The workspace.
    pub(crate) fn open(&self) -> Result<Workspace, Failure> {
        let directory = self.directory();
        if !directory.is_dir() {
            let message = format!("there is no workspace in `{}`", directory.display());
            return Err(Failure::failed(
                message,
                format!("make one with `foreword init {}`", directory.display()),
            ));
        }
        Ok(Workspace::open(&directory, self.environment.clone())?)
    }
}

/// The home directory of the user who runs this.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}
