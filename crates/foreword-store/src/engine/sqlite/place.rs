//! Where a database is: for its errors, and to notice that the file is no longer there.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Error, ErrorCode, ffi};

use super::node_locks::NodeLocks;
use crate::error::StoreError;

/// Where a database is.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    node_locks: NodeLocks,
}

/// Which file stands at a path, whatever its name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Place {
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

    /// Which file stands here now.
    pub(super) fn identity(&self) -> Result<Identity, StoreError> {
        fs::metadata(&self.path).map(|file| identity(&file)).map_err(|error| self.unreachable(&error))
    }

    /// Fails if another file, or none, stands where `opened` was: what is written to a deleted file is lost.
    pub(super) fn still_holds(&self, opened: &Identity) -> Result<(), StoreError> {
        if self.identity().is_ok_and(|now| now == *opened) {
            return Ok(());
        }
        let reason = "the file was deleted or replaced while it was open".to_owned();
        Err(StoreError::Unreachable { place: self.name(), reason })
    }

    /// What an error of the file system means for a caller.
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

    /// What an error of SQLite means for a caller.
    pub(crate) fn error(&self, error: &Error) -> StoreError {
        let place = self.name();
        let reason = error.to_string();
        if extended(error) == Some(ffi::SQLITE_IOERR_SHMSIZE) {
            // The index of the log could not grow.
            return StoreError::Full { place };
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { place },
            Some(ErrorCode::DiskFull) => StoreError::Full { place },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => self.read_only(&reason),
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { place, reason },
            Some(ErrorCode::NotADatabase) => {
                let reason = "it is no SQLite file, or its first page is damaged".to_owned();
                StoreError::Foreign { place, reason }
            }
            // The file is there, so it is the files beside it that can't be made.
            Some(ErrorCode::CannotOpen) if self.path.is_file() => self.read_only(&reason),
            Some(ErrorCode::CannotOpen) => StoreError::Unreachable { place, reason },
            _ => StoreError::Engine { place, reason: reason.into() },
        }
    }

    /// What a caller hears whose transaction ended under it for no reason that was told.
    pub(super) fn ended(&self) -> StoreError {
        StoreError::Engine { place: self.name(), reason: "the transaction was ended".into() }
    }

    /// What a caller hears whose answer can't come any more.
    pub(crate) fn stopped(&self) -> StoreError {
        StoreError::Engine { place: self.name(), reason: "the store is closed".into() }
    }

    pub(super) fn no_thread(&self, error: &io::Error) -> StoreError {
        StoreError::Unreachable { place: self.name(), reason: format!("no thread: {error}") }
    }

    fn read_only(&self, reason: &str) -> StoreError {
        StoreError::ReadOnly { place: self.name(), reason: format!("{reason}{}", self.who_may_write()) }
    }

    /// Whose the file and its folder are, as far as it can be seen.
    fn who_may_write(&self) -> String {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let places = [("file", Some(self.path.as_path())), ("folder", folder)];
        let found = places.into_iter().filter_map(|(what, path)| {
            fs::metadata(path?).ok().and_then(|metadata| owner(&metadata)).map(|owner| (what, owner))
        });
        found.map(|(what, owner)| format!("; the {what} {owner}")).collect()
    }
}

/// Whether SQLite asks to try again later.
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

/// An open file can't be deleted here.
#[cfg(not(unix))]
fn identity(_file: &Metadata) -> Identity {
    Identity(0, 0)
}

#[cfg(not(unix))]
fn owner(_metadata: &Metadata) -> Option<String> {
    None
}
