//! Detects which nodes of a database are alive on this machine. Each process holds an advisory lock on its own file
//! next to the database, and the kernel releases it however the process ends. Unlike a process id it can't be reused,
//! and it works across containers that share the folder. A node without a file is unknown, not dead.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use foreword_core::id::NodeId;
use parking_lot::Mutex;

/// The folder is the database's name with this suffix.
const FOLDER_SUFFIX: &str = "-nodes";
/// The suffix of lock files.
const FILE_SUFFIX: &str = ".lock";

/// The lock files of a database, and those this process holds.
#[derive(Debug)]
pub(crate) struct NodeLocks {
    folder: PathBuf,
    held: Mutex<Vec<(PathBuf, File)>>,
}

impl NodeLocks {
    /// The lock files of the database at `path`.
    pub(crate) fn beside(path: &Path) -> Self {
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        name.push(FOLDER_SUFFIX);
        Self { folder: path.with_file_name(name), held: Mutex::default() }
    }

    /// Locks the file of `node` for the lifetime of this process.
    pub(crate) fn hold(&self, node: &NodeId) -> io::Result<()> {
        let Some(path) = self.path(node.as_str()) else { return Ok(()) };
        match fs::create_dir(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        file.lock()?;
        self.held.lock().push((path, file));
        Ok(())
    }

    /// Whether the process of `node` is known to have exited.
    pub(crate) fn is_dead(&self, node: &NodeId) -> bool {
        self.path(node.as_str()).is_some_and(|path| is_abandoned(&path))
    }

    /// Removes the files of dead nodes, except those that `is_needed`.
    pub(crate) fn remove_dead(&self, is_needed: impl Fn(&str) -> bool) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(node) = name.and_then(|name| name.strip_suffix(FILE_SUFFIX)) else { continue };
            if !is_needed(node) && is_abandoned(&path) {
                // The next call tries again.
                let _ = fs::remove_file(&path);
            }
        }
    }

    /// Releases this process's locks and removes their files, so that an orderly exit does not look like a crash.
    pub(crate) fn release(&self) {
        for (path, file) in self.held.lock().drain(..) {
            let _ = fs::remove_file(path);
            drop(file);
        }
        // Fails if other nodes have files in it.
        let _ = fs::remove_dir(&self.folder);
    }

    /// A node name consists of letters, digits, `-` and `_`; other names have no file.
    fn path(&self, node: &str) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        node.chars().all(is_plain).then(|| self.folder.join(format!("{node}{FILE_SUFFIX}")))
    }
}

/// Whether the file exists and is unlocked. Uses a shared lock, so that two checks don't block each other.
fn is_abandoned(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    match file.try_lock_shared() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> NodeId {
        name.parse().unwrap()
    }

    #[test]
    fn node_is_dead_once_its_lock_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("foreword.db");
        let (ours, theirs) = (NodeLocks::beside(&path), NodeLocks::beside(&path));
        assert!(!ours.is_dead(&node("node-1")), "unknown is not dead");
        theirs.hold(&node("node-1")).unwrap();
        assert!(!ours.is_dead(&node("node-1")));
        // As the kernel does when a process exits.
        drop(theirs);
        assert!(ours.is_dead(&node("node-1")));
        ours.remove_dead(|name| name == "node-1");
        assert!(ours.is_dead(&node("node-1")), "still needed");
        ours.remove_dead(|_| false);
        assert!(!ours.is_dead(&node("node-1")), "forgotten");
    }

    #[test]
    fn orderly_exit_leaves_no_lock_files() {
        let folder = tempfile::tempdir().unwrap();
        let locks = NodeLocks::beside(&folder.path().join("foreword.db"));
        locks.hold(&node("node-1")).unwrap();
        locks.hold(&node("odd/../name")).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("foreword.db-nodes")).unwrap().count(), 1);
        locks.release();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
