//! What only the process knows: its environment, the time, chance, and where the workspace is.

use std::path::{Path, PathBuf};

use foreword_core::store_url::{BadStoreUrl, StoreUrl};
use foreword_workspace::prompts_root::PROMPTS_DIR_VARIABLE;
use foreword_workspace::workspace::{Environment, Workspace};
use jiff::Zoned;

use crate::failure::Failure;

/// Where the store is, if the environment says so.
pub(crate) const STORE_URL_VARIABLE: &str = "FOREWORD_STORE_URL";

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
}

impl World {
    pub(crate) fn read(workspace: Option<&Path>) -> Result<Self, Failure> {
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
        Ok(Self { environment, now: Zoned::now(), marker, current, store_url, workspace })
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
        }
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
