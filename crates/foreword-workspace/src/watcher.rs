//! Watches the directories that prompts are built from and counts their changes, so that a reader knows at once whether what it
//! has read may be out of date. Reads nothing itself; [`Workspace::refresh`] does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use crate::workspace::Workspace;

/// The directories of a workspace that are watched with all that is below them.
const TREES: [&str; 7] = [".agents", "channels", "memory", "prompts", "skills", "users", "workflows"];

/// A directory to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What is in it.
    Directory,
    /// All that is below it.
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
    /// Starts a watcher that calls `on_change` for each change, on a thread of its own.
    ///
    /// # Errors
    /// If the system offers no way to watch files, or no more of it.
    pub fn start(on_change: impl Fn() + Send + 'static) -> Result<Self, notify::Error> {
        let changes = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&changes);
        let handler = move |event: Result<Event, notify::Error>| {
            // An error means that events may have been lost: whatever has changed has to be looked for.
            if event.as_ref().is_ok_and(|event| !is_change(event)) {
                return;
            }
            counter.fetch_add(1, Ordering::SeqCst);
            on_change();
        };
        let watcher = notify::recommended_watcher(handler)?;
        Ok(Self { inner: Mutex::new(Inner { watcher, watched: BTreeMap::new() }), changes })
    }

    /// How many changes there were. One that is made while a reader reads is counted after it has begun.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Watches the directories that `workspace` reads now, and no others. Returns why some can't be watched.
    ///
    /// # Errors
    /// The first reason: changes there are not noticed.
    pub fn follow(&self, workspace: &Workspace) -> Result<(), notify::Error> {
        let wanted = directories(workspace);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { watcher, watched } = &mut *inner;
        // A directory that was replaced by another of the same name is another one to the system.
        watched.retain(|path, depth| {
            let stays = wanted.get(path) == Some(depth) && path.is_dir();
            if !stays {
                // It may be gone already, and its watch with it.
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

/// Whether a file may read differently after it.
fn is_change(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

/// Where `workspace` reads. Not the whole directory: it may be a large repository, and `.foreword/` changes with every turn.
fn directories(workspace: &Workspace) -> BTreeMap<PathBuf, Depth> {
    let (root, snapshot) = (workspace.directory(), workspace.snapshot());
    let mut wanted = BTreeMap::from([(root.to_owned(), Depth::Directory)]);
    for path in snapshot.paths_read() {
        let path = root.join(&*path);
        // A link changes where it is, and its target where that is.
        let target = path.canonicalize().ok();
        let parents =
            [Some(path), target].into_iter().flatten().filter_map(|path| path.parent().map(Path::to_owned));
        wanted.extend(parents.map(|parent| (parent, Depth::Directory)));
    }
    let folders = snapshot.config.own_folders().map(|folder| root.join(folder));
    let prompts = snapshot.of_all_agents().filter_map(|view| workspace.place().prompts_path(&view.config));
    let trees: Vec<PathBuf> =
        TREES.iter().map(|name| root.join(name)).chain(folders).chain(prompts).collect();
    wanted.extend(trees.iter().map(|tree| (tree.clone(), Depth::Tree)));
    let is_below = |path: &Path| trees.iter().any(|tree| path != tree && path.starts_with(tree));
    wanted.retain(|path, _| !is_below(path));
    wanted
}
