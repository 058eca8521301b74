//! Which memory a reader may read: the files of the stores their trust permits, and the workspace files in their own
//! prompt. Decided from paths and rules, before any file is opened.

use std::sync::Arc;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::file_rules::plain_path;
use foreword_prompt::layer::{Layer, Overflow, Source};
use foreword_prompt::trust::{Trust, TrustDecision};

use crate::build::plan;
use crate::error::WorkspaceError;
use crate::memory_files::needed_trust;
use crate::path_trust::Access;
use crate::roots::FileText;
use crate::snapshot::Snapshot;

/// A reader of memory.
///
/// ```
/// use foreword_prompt::trust::Trust;
/// use foreword_workspace::memory_index::Reader;
/// let alice = Reader { user: Some("alice".into()), ..Reader::of(Trust::Full) };
/// assert_eq!(alice.family, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The effective trust: files that need more are neither opened nor counted.
    pub trust: Trust,
    /// The known user.
    pub user: Option<Arc<str>>,
    /// The channel family, such as `signal`.
    pub family: Option<Arc<str>>,
    /// The situation, such as `group`.
    pub situation: Option<Arc<str>>,
}

impl Reader {
    /// A reader with a trust and nothing else known.
    #[must_use]
    pub fn of(trust: Trust) -> Self {
        Self { trust, user: None, family: None, situation: None }
    }

    /// The workspace files that appear in this reader's menu instead of the prompt.
    pub(super) fn menu_files(&self, snapshot: &Snapshot) -> Vec<String> {
        let in_menu = |layer: &&Arc<Layer>| layer.fit.overflow == Overflow::Menu;
        let plan = self.plan(snapshot);
        let paths = plan.iter().filter(in_menu).filter_map(file_of).map(|path| snapshot.place_of(&path));
        paths.filter(|path| self.may_read(snapshot, path)).collect()
    }

    /// Whether this reader's prompt contains the file, in whole, in part or as a line of the menu.
    fn names(&self, snapshot: &Snapshot, path: &str) -> bool {
        let situation = self.situation.as_ref().and_then(|name| snapshot.config.situations.get(name));
        let overlay = situation.and_then(|situation| situation.overlay.as_deref());
        let of_layer = |layer: &Arc<Layer>| match layer.source {
            Source::Overlay => overlay.map(str::to_owned),
            _ => file_of(layer),
        };
        let is_it = |named: String| {
            plain_path(&named).is_ok_and(|named| named == path || snapshot.place_of(&named) == path)
        };
        self.plan(snapshot).iter().filter_map(of_layer).any(is_it)
    }

    fn plan(&self, snapshot: &Snapshot) -> Vec<Arc<Layer>> {
        let trust = TrustDecision::new(self.trust, self.trust);
        plan(&snapshot.config, trust, self.user.as_deref(), self.family.as_deref(), None).layers
    }

    /// Whether the rules permit this reader to read the file that `path` resolves to.
    fn may_read(&self, snapshot: &Snapshot, path: &str) -> bool {
        // The reader's own prompt names the file.
        let permits = |path: &str| {
            snapshot
                .required_trust(path, self.user.as_deref(), Access::PromptSource)
                .permits(self.trust, Trust::Public)
        };
        permits(path) && snapshot.files().root.locate(path).is_ok_and(|real| permits(&real))
    }
}

fn file_of(layer: &Arc<Layer>) -> Option<String> {
    match &layer.source {
        Source::File(file) => Some(file.path.clone()),
        _ => None,
    }
}

/// Reads the memory file `path`: a file of a store (`private/people.md`, with or without `memory/`), or a workspace
/// file in the reader's own prompt. Returns it with its listed path. `None` if it does not exist or the reader may not
/// read it; the two cases are indistinguishable.
///
/// # Errors
/// If the reader may read it and the read fails.
pub fn read_file(
    snapshot: &Snapshot,
    reader: &Reader,
    path: &str,
) -> Result<Option<(String, FileText)>, WorkspaceError> {
    let Ok(path) = plain_path(path) else { return Ok(None) };
    // A reader without access to any store has no memory.
    if MemoryStore::permitted(reader.trust).is_empty() {
        return Ok(None);
    }
    let below_memory = path.strip_prefix("memory/");
    if let Some(found) = read_from_store(snapshot, reader, below_memory.unwrap_or(&path))? {
        return Ok(Some(found));
    }
    if below_memory.is_some() || !reader.names(snapshot, &path) {
        return Ok(None);
    }
    let path = snapshot.place_of(&path);
    if !reader.may_read(snapshot, &path) {
        return Ok(None);
    }
    let files = snapshot.files();
    Ok(found(files.cache.read(&files.root, &path))?.map(|file| (path, file)))
}

fn read_from_store(
    snapshot: &Snapshot,
    reader: &Reader,
    path: &str,
) -> Result<Option<(String, FileText)>, WorkspaceError> {
    let Some((store, name)) = path.split_once('/') else { return Ok(None) };
    let Ok(store) = store.parse::<MemoryStore>() else { return Ok(None) };
    // Only files that a listing would show.
    let listed = name.ends_with(".md") && !name.split('/').any(|part| part.starts_with('.'));
    if !listed || !reader.trust.permits(store.needed_trust()) {
        return Ok(None);
    }
    let files = snapshot.files();
    // Relative to the store's handle, so that no symbolic link leads out of the store.
    let Some(folder) = found(files.root.subroot(&format!("memory/{store}")))? else { return Ok(None) };
    let needed = found(needed_trust(&folder, store, name, &snapshot.config.file_rules))?.flatten();
    if !needed.is_some_and(|needed| reader.trust.permits(needed)) {
        return Ok(None);
    }
    Ok(found(files.cache.read(&folder, name))?.map(|file| (format!("{store}/{name}"), file)))
}

fn found<T>(result: Result<T, WorkspaceError>) -> Result<Option<T>, WorkspaceError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_missing_file() => Ok(None),
        Err(error) => Err(error),
    }
}
