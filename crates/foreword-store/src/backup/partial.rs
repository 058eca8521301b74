//! A file that is being made beside where it will stand. It gets its name when it is complete and on the disk; if it
//! never is, it is deleted.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Existing;
use crate::engine::sqlite::connection::{private_file, sync_folder};
use crate::engine::sqlite::place::Place;
use crate::error::StoreError;

/// Files that one process makes at once have different names.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A file that is not complete yet. Deleted when dropped.
#[derive(Debug)]
pub(super) struct Partial {
    path: PathBuf,
    target: PathBuf,
}

impl Partial {
    /// A new, empty file that will stand at `target`, which must not be `source` itself.
    pub(super) fn beside(
        target: &Path,
        existing: Existing,
        source: Option<&Place>,
    ) -> Result<Self, StoreError> {
        let place = Place::new(target);
        may_stand(&place, existing, source)?;
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let path = with_ending(target, &format!(".{}-{made}.partial", process::id()));
        // Only a process that is gone can have left it.
        let _ = fs::remove_file(&path);
        private_file(&path).map_err(|error| place.unreachable(&error))?;
        Ok(Self { path, target: target.to_owned() })
    }

    /// A new, empty file that will never be anything else.
    pub(super) fn temporary() -> Result<Self, StoreError> {
        let path = std::env::temp_dir().join(format!("foreword-{}.db", process::id()));
        Self::beside(&path, Existing::Replace, None)
    }

    /// Where it is now.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name, and says which that is and how large the file is.
    pub(super) fn finish(self, existing: Existing) -> Result<(PathBuf, u64), StoreError> {
        let place = Place::new(&self.target);
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
        // Gone already if it was given its name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Gives a file another name if nothing has it; also if somebody else tries to at the same moment.
fn name_once(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        // Not every file system has links.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !to.try_exists()? => {
            fs::rename(from, to)
        }
        linked => linked,
    }
}

/// Whether a backup may get this name.
fn may_stand(place: &Place, existing: Existing, source: Option<&Place>) -> Result<(), StoreError> {
    let refused = |reason: String| Err(StoreError::Unreachable { place: place.name(), reason });
    let same = source.is_some_and(|source| {
        fs::canonicalize(source.path())
            .is_ok_and(|source| fs::canonicalize(place.path()).is_ok_and(|to| to == source))
    });
    if same {
        return refused("it is the database itself".to_owned());
    }
    // SQLite would take what stands there for a part of the new file.
    for ending in ["-wal", "-journal"] {
        let beside = with_ending(place.path(), ending);
        if beside.exists() {
            return refused(format!("`{}` stands beside it, so it may be in use", beside.display()));
        }
    }
    // A folder, a device or a pipe is nobody's old backup.
    if fs::symlink_metadata(place.path()).is_ok_and(|there| !there.is_file() && !there.is_symlink()) {
        return refused("it is no file".to_owned());
    }
    match existing {
        Existing::Keep if place.path().exists() => Err(StoreError::Exists { place: place.name() }),
        _ => Ok(()),
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
