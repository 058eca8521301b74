//! Watches the directories that prompts are built from and counts changes, so that a reader knows whether its data may
//! be stale. Reads no files; see [`Workspace::refresh`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;

use crate::error::WorkspaceError;
use crate::workspace::Workspace;

/// The directories of a workspace that are watched recursively.
const WATCHED_DIRECTORIES: [&str; 7] =
    [".agents", "channels", "memory", "prompts", "skills", "users", "workflows"];

/// How deep a directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Its entries only.
    Directory,
    /// Recursively.
    Tree,
}

/// A watcher of a workspace's files.
pub struct FileWatcher {
    inner: Mutex<Inner>,
    changes: Arc<AtomicU64>,
}

struct Inner {
    watcher: RecommendedWatcher,
    watched: BTreeMap<PathBuf, Depth>,
}

impl std::fmt::Debug for FileWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileWatcher").field("changes", &self.changes).finish_non_exhaustive()
    }
}

impl FileWatcher {
    /// Starts a watcher that calls `on_change` for each change, on a separate thread.
    ///
    /// # Errors
    /// If the system cannot watch files, or a limit is reached.
    pub fn start(on_change: impl Fn() + Send + 'static) -> Result<Self, notify::Error> {
        let changes = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&changes);
        let handler = move |event: Result<Event, notify::Error>| {
            // An error means that events may be lost, so it counts as a change.
            if event.as_ref().is_ok_and(|event| !is_change(event)) {
                return;
            }
            counter.fetch_add(1, Ordering::SeqCst);
            on_change();
        };
        let watcher = notify::recommended_watcher(handler)?;
        Ok(Self { inner: Mutex::new(Inner { watcher, watched: BTreeMap::new() }), changes })
    }

    /// The number of changes so far. A change during a read is counted after the read began.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Watches exactly the directories that `workspace` reads now.
    ///
    /// # Errors
    /// The first failure: changes in that directory are not detected.
    pub fn follow(&self, workspace: &Workspace) -> Result<(), notify::Error> {
        // The watches of a directory that was moved away end with it; when it is back, all are new.
        let wanted = match workspace.problem() {
            Some(WorkspaceError::Unavailable { .. }) => BTreeMap::new(),
            _ => directories(workspace),
        };
        let mut inner = self.inner.lock();
        let Inner { watcher, watched } = &mut *inner;
        // A directory that was replaced by another with the same name needs a new watch.
        watched.retain(|path, depth| {
            let stays = wanted.get(path) == Some(depth) && path.is_dir();
            if !stays {
                // The directory may be gone, and its watch with it.
                let _ = watcher.unwatch(path);
            }
            stays
        });
        let mut failed = None;
        for (path, depth) in wanted {
            if watched.contains_key(&path) || !path.is_dir() {
                continue;
            }
            let mode = match depth {
                Depth::Directory => RecursiveMode::NonRecursive,
                Depth::Tree => RecursiveMode::Recursive,
            };
            match watcher.watch(&path, mode) {
                Ok(()) => drop(watched.insert(path, depth)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Whether the event may change the text of a file.
fn is_change(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

/// The directories that `workspace` reads. Not the whole workspace: it may be a large repository, and `.foreword/`
/// changes with every turn.
fn directories(workspace: &Workspace) -> BTreeMap<PathBuf, Depth> {
    let (root, snapshot) = (workspace.directory(), workspace.snapshot());
    let mut wanted = BTreeMap::from([(root.to_owned(), Depth::Directory)]);
    for path in snapshot.paths_read() {
        let path = root.join(&*path);
        // A link and its target change in different directories.
        let target = path.canonicalize().ok();
        let parents =
            [Some(path), target].into_iter().flatten().filter_map(|path| path.parent().map(Path::to_owned));
        wanted.extend(parents.map(|parent| (parent, Depth::Directory)));
    }
    let folders = snapshot.config.own_folders().map(|folder| root.join(folder));
    let prompts = snapshot.of_all_agents().filter_map(|view| workspace.dir().prompts_path(&view.config));
    let trees: Vec<PathBuf> =
        WATCHED_DIRECTORIES.iter().map(|name| root.join(name)).chain(folders).chain(prompts).collect();
    wanted.extend(trees.iter().map(|tree| (tree.clone(), Depth::Tree)));
    let is_below = |path: &Path| trees.iter().any(|tree| path != tree && path.starts_with(tree));
    wanted.retain(|path, _| !is_below(path));
    wanted
}
