//! A workspace in a temporary directory, and error messages without its path.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreword_workspace::error::WorkspaceError;
use foreword_workspace::roots::Root;
use foreword_workspace::text_pool::{FileCache, PoolLimits, TextPool};
use tempfile::TempDir;

/// `inside/` is the workspace; everything else in the temporary directory is outside.
pub(crate) struct Folder {
    base: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("inside")).unwrap();
        Self { base }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.base.path().join("inside")
    }

    pub(crate) fn outside(&self) -> &Path {
        self.base.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub(crate) fn root(&self) -> Root {
        Root::open("workspace", &self.path()).unwrap()
    }

    /// The message and the hint, with the temporary directory replaced by `/tmp`.
    pub(crate) fn message(&self, error: &WorkspaceError) -> String {
        let words = format!("{error}\nhelp: {}", error.help().as_deref().unwrap_or("-"));
        words.replace(&*self.base.path().to_string_lossy(), "/tmp")
    }
}

pub(crate) fn cache() -> FileCache {
    FileCache::new(Arc::new(TextPool::new(PoolLimits::default())), 64 * 1024 * 1024)
}
