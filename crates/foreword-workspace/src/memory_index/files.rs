//! The indexes of the memory files: one per store, and one per file that needs a different trust than its store or
//! belongs to none. Each search updates them by content hash, so unchanged files are not indexed again. Files the
//! reader may not see are neither opened nor locked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::untrusted::single_line;
use parking_lot::{Mutex, RwLock};

use super::index::{Document, Index};
use super::query::Query;
use super::reader::Reader;
use super::search::{SearchLimits, SearchResults, search};
use crate::front_matter::FrontMatter;
use crate::memory_files::{MemoryAccess, StoredFile, description_of, read_store};
use crate::roots::FileText;
use crate::snapshot::Snapshot;

/// A shared index.
pub type SharedIndex = Arc<RwLock<Index>>;

/// The indexes of a workspace's memory files.
#[derive(Debug, Default)]
pub struct FileIndexes {
    private: SharedIndex,
    shared: SharedIndex,
    social: SharedIndex,
    /// Indexes of files with rules of their own, by path.
    single: Mutex<BTreeMap<String, SharedIndex>>,
}

impl Snapshot {
    /// Up-to-date indexes of all files that `reader` may search.
    #[must_use]
    pub fn memory_indexes(&self, reader: &Reader) -> Vec<SharedIndex> {
        self.files().memory.indexes(self, reader)
    }
}

impl FileIndexes {
    fn indexes(&self, snapshot: &Snapshot, reader: &Reader) -> Vec<SharedIndex> {
        let mut indexes = Vec::new();
        let mut single: Vec<(String, FileText)> = Vec::new();
        let files = snapshot.files();
        let access = MemoryAccess { trust: reader.trust, rules: &snapshot.config.file_rules };
        let stores = MemoryStore::permitted(reader.trust);
        for store in &stores {
            let read = read_store(&files.root, &files.cache, *store, access).items;
            let mut own = Vec::new();
            for StoredFile { path, trust, file } in read {
                // A path that needs escaping could not be passed to a tool as written.
                if single_line(&path, usize::MAX) == path {
                    let list = if trust == store.needed_trust() { &mut own } else { &mut single };
                    list.push((path, file));
                }
            }
            let index = self.of(*store);
            bring_up_to_date(index, own);
            indexes.push(Arc::clone(index));
        }
        // A reader without access to any store has no memory, so other workspace files are not searched either.
        let in_menu = if stores.is_empty() { Vec::new() } else { reader.menu_files(snapshot) };
        for path in in_menu {
            // An unreadable file has already failed the prompt build, which reports it.
            single.extend(files.cache.read(&files.root, &path).ok().map(|file| (path, file)));
        }
        indexes.extend(single.into_iter().map(|(path, file)| self.single(path, file)));
        indexes
    }

    fn of(&self, store: MemoryStore) -> &SharedIndex {
        match store {
            MemoryStore::Private => &self.private,
            MemoryStore::Shared => &self.shared,
            MemoryStore::Social => &self.social,
        }
    }

    fn single(&self, path: String, file: FileText) -> SharedIndex {
        let mut single = self.single.lock();
        let index = Arc::clone(single.entry(path.clone()).or_default());
        drop(single);
        bring_up_to_date(&index, vec![(path, file)]);
        index
    }
}

/// Makes an index contain exactly `files`. Indexes only the changed ones.
fn bring_up_to_date(index: &SharedIndex, files: Vec<(String, FileText)>) {
    let (changed, gone) = difference(&index.read(), files);
    if changed.is_empty() && gone.is_empty() {
        return;
    }
    let documents = changed.into_iter().map(|(path, file)| document(&path, file)).collect();
    index.write().change(documents, &gone);
}

type Difference = (Vec<(String, FileText)>, Vec<Arc<str>>);

fn difference(index: &Index, files: Vec<(String, FileText)>) -> Difference {
    let there: BTreeSet<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let gone = index.paths().filter(|path| !there.contains(&***path)).cloned().collect();
    let changed = files.into_iter().filter(|(path, file)| index.hash_of(path) != Some(file.hash)).collect();
    (changed, gone)
}

fn document(path: &str, file: FileText) -> Document {
    let body = FrontMatter::split(path, Arc::clone(&file.text)).body().len();
    Document {
        path: path.into(),
        description: description_of(path, &file.text).into(),
        body: file.text.len() - body,
        text: file.text,
        hash: file.hash,
        from_outside: false,
    }
}

/// Searches `indexes` for `query`.
#[must_use]
pub fn search_indexes(indexes: &[SharedIndex], query: &Query, wanted: SearchLimits<'_>) -> SearchResults {
    let open: Vec<_> = indexes.iter().map(|index| index.read()).collect();
    let indexes: Vec<&Index> = open.iter().map(|index| &**index).collect();
    search(&indexes, query, wanted)
}
