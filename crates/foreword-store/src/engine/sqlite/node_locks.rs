//! Which nodes of a database are alive on this machine. Each process holds an advisory lock on a file of its own beside the
//! database for as long as it lives; the kernel releases it however the process ends. Unlike a process id it can't be
//! reused, and it means the same in every container that shares the folder. A node without a file is unknown, not dead.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foreword_core::id::NodeId;

/// What the folder is called: the database's own name and this.
const FOLDER_SUFFIX: &str = "-nodes";
/// How a lock file's name ends.
const FILE_SUFFIX: &str = ".lock";

/// The lock files of a database, and those this process holds.
#[derive(Debug)]
pub(crate) struct NodeLocks {
    folder: PathBuf,
    held: Mutex<Vec<(PathBuf, File)>>,
}

impl NodeLocks {
    /// Those beside the database at `path`.
    pub(crate) fn beside(path: &Path) -> Self {
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        name.push(FOLDER_SUFFIX);
        Self { folder: path.with_file_name(name), held: Mutex::default() }
    }

    /// Says that `node` lives as long as this process does.
    pub(crate) fn hold(&self, node: &NodeId) -> io::Result<()> {
        let Some(path) = self.path(node.as_str()) else { return Ok(()) };
        match fs::create_dir(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        file.lock()?;
        self.held().push((path, file));
        Ok(())
    }

    /// Whether the process that held `node` is known to be gone.
    pub(crate) fn is_dead(&self, node: &NodeId) -> bool {
        self.path(node.as_str()).is_some_and(|path| is_abandoned(&path))
    }

    /// Removes the files of dead nodes for which `is_needed` says no.
    pub(crate) fn remove_dead(&self, is_needed: impl Fn(&str) -> bool) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(node) = name.and_then(|name| name.strip_suffix(FILE_SUFFIX)) else { continue };
            if !is_needed(node) && is_abandoned(&path) {
                // The next to look finds it again.
                let _ = fs::remove_file(&path);
            }
        }
    }

    /// Lets go of what this process holds, in order: nothing is left to be found dead.
    pub(crate) fn release(&self) {
        for (path, file) in self.held().drain(..) {
            let _ = fs::remove_file(path);
            drop(file);
        }
        // Only if nobody else has a file in it.
        let _ = fs::remove_dir(&self.folder);
    }

    /// Nodes are called by letters, digits, `-` and `_`; one that is not has no file.
    fn path(&self, node: &str) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        node.chars().all(is_plain).then(|| self.folder.join(format!("{node}{FILE_SUFFIX}")))
    }

    fn held(&self) -> MutexGuard<'_, Vec<(PathBuf, File)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there is such a file and nobody holds it. A shared lock, so that two who look don't see each other.
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
    fn a_node_is_dead_once_nobody_holds_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("foreword.db");
        let (ours, theirs) = (NodeLocks::beside(&path), NodeLocks::beside(&path));
        assert!(!ours.is_dead(&node("node-1")), "unknown is not dead");
        theirs.hold(&node("node-1")).unwrap();
        assert!(!ours.is_dead(&node("node-1")));
        // What the kernel does when a process dies.
        drop(theirs);
        assert!(ours.is_dead(&node("node-1")));
        ours.remove_dead(|name| name == "node-1");
        assert!(ours.is_dead(&node("node-1")), "still needed");
        ours.remove_dead(|_| false);
        assert!(!ours.is_dead(&node("node-1")), "forgotten");
    }

    #[test]
    fn an_orderly_end_leaves_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let locks = NodeLocks::beside(&folder.path().join("foreword.db"));
        locks.hold(&node("node-1")).unwrap();
        locks.hold(&node("odd/../name")).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("foreword.db-nodes")).unwrap().count(), 1);
        locks.release();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
