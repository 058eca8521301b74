//! The state of this process that commands need: environment, time, random bytes, and the workspace's directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use foreword_core::store_url::{BadStoreUrl, StoreUrl};
use foreword_workspace::config::CONFIG_FILE;
use foreword_workspace::prompts_root::PROMPTS_DIR_VARIABLE;
use foreword_workspace::workspace::{Environment, Workspace};
use jiff::Zoned;

use crate::failure::Failure;

/// The environment variable with the store's URL.
pub(crate) const STORE_URL_VARIABLE: &str = "FOREWORD_STORE_URL";

/// A directory with one of these is a workspace.
const WORKSPACE_MARKERS: [&str; 2] = [CONFIG_FILE, ".foreword"];

/// The environment variable with the workspace's directory.
const WORKSPACE_VARIABLE: &str = "FOREWORD_WORKSPACE";

/// Whether a directory without workspace files is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmarked {
    /// Commands that store or execute something reject it.
    Refused,
    /// `--here`: use it as a workspace.
    Allowed,
}

/// Read once at the start of a command.
#[derive(Debug)]
pub(crate) struct ProcessContext {
    pub(crate) environment: Environment,
    pub(crate) now: Zoned,
    /// Random bytes for the frame around untrusted text.
    pub(crate) marker: [u8; 16],
    /// The current directory.
    pub(crate) current: PathBuf,
    /// `FOREWORD_STORE_URL`. It takes precedence over the configuration, so that no password needs to be in a file.
    pub(crate) store_url: Option<Result<StoreUrl, BadStoreUrl>>,
    workspace: Option<PathBuf>,
    unmarked: Unmarked,
}

impl ProcessContext {
    pub(crate) fn read(workspace: Option<&Path>, unmarked: Unmarked) -> Result<Self, Failure> {
        let current = std::env::current_dir().map_err(|error| {
            Failure::failed(
                format!("there is no current directory: {error}"),
                "change to an existing directory",
            )
        })?;
        let mut marker = [0; 16];
        getrandom::fill(&mut marker).map_err(|error| {
            Failure::failed(format!("can't get random bytes: {error}"), "check the operating system")
        })?;
        let home = home();
        let prompts_dir = std::env::var_os(PROMPTS_DIR_VARIABLE).map(|path| expanded(path, home.as_deref()));
        let store_url = std::env::var_os(STORE_URL_VARIABLE).filter(|url| !url.is_empty());
        let store_url = store_url.map(|url| store_url_of(&expanded(url, home.as_deref())));
        let workspace = workspace.map(|path| expanded(path.into(), home.as_deref()).into());
        let environment = Environment { prompts_dir, home };
        Ok(Self { environment, now: Zoned::now(), marker, current, store_url, workspace, unmarked })
    }

    /// The workspace's directory; it may not exist yet.
    pub(crate) fn directory(&self) -> PathBuf {
        self.workspace.as_ref().map_or_else(|| self.current.clone(), |path| self.current.join(path))
    }

    /// The workspace's directory, if one was named.
    pub(crate) fn named_workspace(&self) -> Option<PathBuf> {
        self.workspace.is_some().then(|| self.directory())
    }

    /// The same context for the workspace in `directory`, with the store in that directory.
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

    /// Rejects a directory that is not a workspace: with the default configuration an agent there would have every
    /// tool.
    pub(crate) fn require_workspace(&self) -> Result<(), Failure> {
        let directory = self.directory();
        let is_marked = WORKSPACE_MARKERS.iter().any(|mark| directory.join(mark).exists());
        if is_marked || self.unmarked == Unmarked::Allowed {
            return Ok(());
        }
        Err(Failure::failed(
            format!(
                "`{}` is not a workspace: it has neither `{CONFIG_FILE}` nor `.foreword/`",
                directory.display()
            ),
            "create one with `foreword init`, name one with `--workspace DIR`, or use this directory with `--here`",
        ))
    }

    /// A warning if the environment names another workspace than the current directory.
    pub(crate) fn overridden_by_environment(&self) -> Option<String> {
        let named = self.workspace.as_ref()?;
        let variable = std::env::var_os(WORKSPACE_VARIABLE);
        let variable = variable.map(|path| expanded(path, self.environment.home.as_deref()));
        if variable.as_deref() != Some(named.as_os_str()) || !self.current.join(CONFIG_FILE).is_file() {
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

    pub(crate) fn open(&self) -> Result<Workspace, Failure> {
        let directory = self.directory();
        if !directory.is_dir() {
            let message = format!("there is no workspace in `{}`", directory.display());
            return Err(Failure::failed(
                message,
                format!("create one with `foreword init {}`", directory.display()),
            ));
        }
        Ok(Workspace::open(&directory, self.environment.clone())?)
    }
}

/// Expands a leading `~/` or `sqlite:~/`. A shell does so itself, but not for a variable in the file of a service.
fn expanded(written: OsString, home: Option<&Path>) -> OsString {
    let path = written.to_str().map(|text| text.strip_prefix("sqlite:").unwrap_or(text));
    match (path.and_then(|path| path.strip_prefix("~/")), home) {
        (Some(rest), Some(home)) => home.join(rest).into_os_string(),
        _ => written,
    }
}

fn store_url_of(written: &OsStr) -> Result<StoreUrl, BadStoreUrl> {
    written.to_str().ok_or(BadStoreUrl::Neither).and_then(StoreUrl::parse)
}

/// The home directory of the current user.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}
