//! A temporary file next to its target. It is renamed to the target once it is complete and synced, and deleted
//! otherwise.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Existing;
use crate::engine::sqlite::connection::{private_file, sync_folder};
use crate::engine::sqlite::file::DatabaseFile;
use crate::error::StoreError;

/// Makes the names of temporary files unique within a process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// An incomplete file. Dropping it deletes it.
#[derive(Debug)]
pub(super) struct Partial {
    path: PathBuf,
    target: PathBuf,
}

impl Partial {
    /// Creates an empty file that will be renamed to `target`, which must not be `source`.
    pub(super) fn beside(
        target: &Path,
        existing: Existing,
        source: Option<&DatabaseFile>,
    ) -> Result<Self, StoreError> {
        let place = DatabaseFile::new(target);
        may_stand(&place, existing, source)?;
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let path = with_ending(target, &format!(".{}-{made}.partial", process::id()));
        // Left over from a process that has exited.
        let _ = fs::remove_file(&path);
        private_file(&path).map_err(|error| place.unreachable(&error))?;
        Ok(Self { path, target: target.to_owned() })
    }

    /// Creates an empty file that is never renamed.
    pub(super) fn temporary() -> Result<Self, StoreError> {
        let path = std::env::temp_dir().join(format!("foreword-{}.db", process::id()));
        Self::beside(&path, Existing::Replace, None)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its target. Returns the path and the size.
    pub(super) fn finish(self, existing: Existing) -> Result<(PathBuf, u64), StoreError> {
        let place = DatabaseFile::new(&self.target);
        may_stand(&place, existing, None)?;
        let name = || {
            let file = File::open(&self.path)?;
            file.sync_all()?;
            match existing {
                Existing::Keep => name_once(&self.path, &self.target)?,
                Existing::Replace => fs::rename(&self.path, &self.target)?,
            }
            sync_folder(self.target.parent().unwrap_or(Path::new("")))?;
            file.metadata().map(|file| file.len())
        };
        let bytes = name().map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { place: place.name() },
            _ => place.unreachable(&error),
        })?;
        Ok((self.target.clone(), bytes))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Fails if the file was renamed.
        let _ = fs::remove_file(&self.path);
    }
}

/// Renames a file atomically, and fails if the target exists.
fn name_once(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        // Not every file system supports hard links.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !to.try_exists()? => {
            fs::rename(from, to)
        }
        linked => linked,
    }
}

/// Whether a backup may be written to this path.
fn may_stand(
    place: &DatabaseFile,
    existing: Existing,
    source: Option<&DatabaseFile>,
) -> Result<(), StoreError> {
    let refused = |reason: String| Err(StoreError::Unreachable { place: place.name(), reason });
    let same = source.is_some_and(|source| {
        fs::canonicalize(source.path())
            .is_ok_and(|source| fs::canonicalize(place.path()).is_ok_and(|to| to == source))
    });
    if same {
        return refused("it is the database itself".to_owned());
    }
    // SQLite would treat these files as part of the new database.
    for ending in ["-wal", "-journal"] {
        let beside = with_ending(place.path(), ending);
        if beside.exists() {
            return refused(format!("`{}` exists, so the file may be in use", beside.display()));
        }
    }
    // A directory, a device or a pipe is not an old backup.
    if fs::symlink_metadata(place.path()).is_ok_and(|there| !there.is_file() && !there.is_symlink()) {
        return refused("it is not a file".to_owned());
    }
    match existing {
        Existing::Keep if place.path().exists() => Err(StoreError::Exists { place: place.name() }),
        _ => Ok(()),
    }
}

pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
