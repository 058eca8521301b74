//! `foreword.yaml` as it is on disk: its text, its version, and what a missing one means.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use foreword_prompt::text::ContentHash;

use crate::config::{CONFIG_FILE, Config, HomePaths};
use crate::error::WorkspaceError;
use crate::snapshot::Files;

/// For how long an editor that replaces a file may leave none in its place.
const REPLACE_GAP: Duration = Duration::from_millis(50);

/// The text of `foreword.yaml`.
pub(crate) fn text(files: &Files) -> Result<Arc<str>, WorkspaceError> {
    match files.cache.read(&files.root, CONFIG_FILE) {
        Ok(file) => Ok(file.text),
        Err(error) if error.is_missing_file() => Err(WorkspaceError::ConfigMissing),
        Err(error) => Err(error),
    }
}

/// The text of one that was there before: a file that is just being replaced is not missing.
pub(crate) fn text_again(files: &Files) -> Result<Arc<str>, WorkspaceError> {
    match text(files) {
        Err(WorkspaceError::ConfigMissing) => {
            thread::sleep(REPLACE_GAP);
            text(files)
        }
        written => written,
    }
}

/// Tells versions apart.
pub(crate) fn hash(written: &Result<Arc<str>, WorkspaceError>) -> Result<ContentHash, WorkspaceError> {
    written.as_ref().map(|text| ContentHash::of(text)).map_err(Clone::clone)
}

/// A workspace that never had a `foreword.yaml` has the defaults; one that loses it keeps what it had.
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
