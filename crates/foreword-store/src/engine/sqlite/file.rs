//! The path of a database file: for error messages, and to detect that the file was deleted or replaced.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Error, ErrorCode, ffi};

use super::node_locks::NodeLocks;
use crate::error::StoreError;

/// The path of a database file, and the node locks next to it.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    node_locks: NodeLocks,
}

/// The device and inode of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl DatabaseFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), node_locks: NodeLocks::beside(path) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn node_locks(&self) -> &NodeLocks {
        &self.node_locks
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The identity of the file at the path now.
    pub(super) fn identity(&self) -> Result<Identity, StoreError> {
        fs::metadata(&self.path).map(|file| identity(&file)).map_err(|error| self.unreachable(&error))
    }

    /// Fails if the file was deleted or replaced since it was opened: writes to a deleted file are lost.
    pub(super) fn still_holds(&self, opened: &Identity) -> Result<(), StoreError> {
        if self.identity().is_ok_and(|now| now == *opened) {
            return Ok(());
        }
        let reason = "the file was deleted or replaced while it was open".to_owned();
        Err(StoreError::Unreachable { place: self.name(), reason })
    }

    /// Converts a file system error.
    pub(crate) fn unreachable(&self, error: &io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                self.read_only(&error.to_string())
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::Full { place: self.name() }
            }
            _ => StoreError::Unreachable { place: self.name(), reason: error.to_string() },
        }
    }

    /// Converts a SQLite error.
    pub(crate) fn error(&self, error: &Error) -> StoreError {
        let place = self.name();
        let reason = error.to_string();
        if extended(error) == Some(ffi::SQLITE_IOERR_SHMSIZE) {
            // The shared-memory index of the log could not grow.
            return StoreError::Full { place };
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { place },
            Some(ErrorCode::DiskFull) => StoreError::Full { place },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => self.read_only(&reason),
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { place, reason },
            Some(ErrorCode::NotADatabase) => {
                let reason = "it is not a SQLite file, or its first page is damaged".to_owned();
                StoreError::Foreign { place, reason }
            }
            // The file exists, so SQLite can't create its companion files.
            Some(ErrorCode::CannotOpen) if self.path.is_file() => self.read_only(&reason),
            Some(ErrorCode::CannotOpen) => StoreError::Unreachable { place, reason },
            _ => StoreError::Engine { place, reason: reason.into() },
        }
    }

    /// The error if SQLite has ended the transaction without an error of its own.
    pub(super) fn ended(&self) -> StoreError {
        StoreError::Engine { place: self.name(), reason: "the transaction was ended".into() }
    }

    /// The error after the store was closed.
    pub(crate) fn stopped(&self) -> StoreError {
        StoreError::Engine { place: self.name(), reason: "the store is closed".into() }
    }

    pub(super) fn no_thread(&self, error: &io::Error) -> StoreError {
        StoreError::Unreachable { place: self.name(), reason: format!("no thread: {error}") }
    }

    fn read_only(&self, reason: &str) -> StoreError {
        StoreError::ReadOnly { place: self.name(), reason: format!("{reason}{}", self.who_may_write()) }
    }

    /// The owner of the file and its folder, if known.
    fn who_may_write(&self) -> String {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let places = [("file", Some(self.path.as_path())), ("folder", folder)];
        let found = places.into_iter().filter_map(|(what, path)| {
            fs::metadata(path?).ok().and_then(|metadata| owner(&metadata)).map(|owner| (what, owner))
        });
        found.map(|(what, owner)| format!("; the {what} {owner}")).collect()
    }
}

/// Whether another connection holds the lock.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn extended(error: &Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

#[cfg(unix)]
fn identity(file: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity(file.dev(), file.ino())
}

#[cfg(unix)]
fn owner(metadata: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let (user, group, mode) = (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777);
    Some(format!("belongs to user {user}, group {group}, with permissions {mode:04o}"))
}

/// An open file can't be deleted on this platform.
#[cfg(not(unix))]
fn identity(_file: &Metadata) -> Identity {
    Identity(0, 0)
}

#[cfg(not(unix))]
fn owner(_metadata: &Metadata) -> Option<String> {
    None
}
