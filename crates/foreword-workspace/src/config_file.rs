//! `foreword.yaml` on disk: its text, its version, and the handling of a missing or empty file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use std::{fs, io};

use foreword_prompt::text::ContentHash;

use crate::config::{CONFIG_FILE, Config, HomePaths, has_no_settings};
use crate::error::WorkspaceError;
use crate::snapshot::Files;

/// A file that records that the workspace has a `foreword.yaml`. If only this file is left, the configuration was lost,
/// and the defaults must not replace it.
const CONFIGURED_MARKER: &str = ".foreword/configured";
/// How long an editor may leave a gap while it replaces the file.
const REPLACE_TIMEOUT: Duration = Duration::from_millis(50);

/// The text of `foreword.yaml`.
pub(crate) fn text(files: &Files) -> Result<Arc<str>, WorkspaceError> {
    match files.cache.read(&files.root, CONFIG_FILE) {
        Ok(file) => Ok(file.text),
        Err(error) if error.is_missing_file() => Err(WorkspaceError::ConfigMissing),
        Err(error) => Err(error),
    }
}

/// The text of a file that existed before. If it is missing or empty, waits briefly: an editor may be replacing it.
pub(crate) fn text_again(files: &Files) -> Result<Arc<str>, WorkspaceError> {
    let written = text(files);
    let may_be_half_written = match &written {
        Ok(text) => has_no_settings(text),
        Err(error) => *error == WorkspaceError::ConfigMissing,
    };
    if may_be_half_written {
        thread::sleep(REPLACE_TIMEOUT);
        return text(files);
    }
    written
}

/// Whether `directory` has, or once had, a `foreword.yaml`.
pub(crate) fn was_configured(directory: &Path, written: &Result<Arc<str>, WorkspaceError>) -> bool {
    *written != Err(WorkspaceError::ConfigMissing) || directory.join(CONFIGURED_MARKER).exists()
}

/// Identifies a version of the file.
pub(crate) fn hash(written: &Result<Arc<str>, WorkspaceError>) -> Result<ContentHash, WorkspaceError> {
    written.as_ref().map(|text| ContentHash::of(text)).map_err(Clone::clone)
}

/// Records in `.foreword/` that `directory` has a `foreword.yaml`, if it has one.
pub(crate) fn record(directory: &Path) -> io::Result<()> {
    let marker = directory.join(CONFIGURED_MARKER);
    if marker.exists() || !directory.join(CONFIG_FILE).is_file() {
        return Ok(());
    }
    fs::create_dir_all(directory.join(".foreword"))?;
    fs::write(marker, "")
}

/// The configuration that replaces `current`. An empty file does not replace one with settings: editors truncate a file
/// before they write it, and the defaults grant more than most configurations.
pub(crate) fn parse_again(
    written: Result<Arc<str>, WorkspaceError>,
    has_config: &AtomicBool,
    current: &Config,
) -> Result<Config, WorkspaceError> {
    if written.as_ref().is_ok_and(|text| has_no_settings(text)) && !current.sections.is_empty() {
        return Err(WorkspaceError::ConfigEmpty);
    }
    parse(written, has_config, &current.home)
}

/// A workspace that never had a `foreword.yaml` gets the defaults. If the file is removed later, the last configuration
/// stays in force.
pub(crate) fn parse(
    written: Result<Arc<str>, WorkspaceError>,
    has_config: &AtomicBool,
    home: &HomePaths,
) -> Result<Config, WorkspaceError> {
    let text = match written {
        Err(WorkspaceError::ConfigMissing) if !has_config.load(Ordering::Relaxed) => "".into(),
        written => written?,
    };
    let config = Config::parse_at(CONFIG_FILE, &text, home).map_err(WorkspaceError::Config)?;
    if !text.is_empty() {
        has_config.store(true, Ordering::Relaxed);
    }
    Ok(config)
}
