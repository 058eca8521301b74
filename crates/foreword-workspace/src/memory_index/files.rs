//! The indexes of the memory files: one for each store, and one for each file that needs another trust than its store or
//! is in none. Brought up to date whenever somebody searches, by content: a file that has not changed is not indexed
//! again. What the reader may not see is neither opened nor waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::untrusted::single_line;

use super::index::{Document, Index};
use super::query::Query;
use super::reader::Reader;
use super::search::{Found, Wanted, search};
use crate::front_matter::FrontMatter;
use crate::memory_files::{MemoryAccess, StoredFile, description_of, read_store};
use crate::roots::FileText;
use crate::snapshot::Snapshot;

/// An index that is shared and kept up to date.
pub type Shelf = Arc<RwLock<Index>>;

/// The indexes of a workspace's memory files.
#[derive(Debug, Default)]
pub struct FileIndexes {
    private: Shelf,
    shared: Shelf,
    social: Shelf,
    /// By path: files with rules of their own.
    single: Mutex<BTreeMap<String, Shelf>>,
}

impl Snapshot {
    /// The indexes of all files that `reader` may search, as the files are now.
    #[must_use]
    pub fn memory_shelves(&self, reader: &Reader) -> Vec<Shelf> {
        self.files().memory.shelves(self, reader)
    }
}

impl FileIndexes {
    fn shelves(&self, snapshot: &Snapshot, reader: &Reader) -> Vec<Shelf> {
        let mut shelves = Vec::new();
        let mut single: Vec<(String, FileText)> = Vec::new();
        let files = snapshot.files();
        let access = MemoryAccess { trust: reader.trust, rules: &snapshot.config.file_rules };
        let stores = MemoryStore::permitted(reader.trust);
        for store in &stores {
            let read = read_store(&files.root, &files.cache, *store, access).items;
            let mut own = Vec::new();
            for StoredFile { path, trust, file } in read {
                // A path that has to be escaped could not be called as it is written.
                if single_line(&path, usize::MAX) == path {
                    let list = if trust == store.needed_trust() { &mut own } else { &mut single };
                    list.push((path, file));
                }
            }
            let shelf = self.of(*store);
            bring_up_to_date(shelf, own);
            shelves.push(Arc::clone(shelf));
        }
        // Without a store there is no memory, so there is none in the workspace's other files either.
        let in_menu = if stores.is_empty() { Vec::new() } else { reader.menu_files(snapshot) };
        for path in in_menu {
            // One that can't be read has spoilt the prompt already, and is reported there.
            single.extend(files.cache.read(&files.root, &path).ok().map(|file| (path, file)));
        }
        shelves.extend(single.into_iter().map(|(path, file)| self.single(path, file)));
        shelves
    }

    fn of(&self, store: MemoryStore) -> &Shelf {
        match store {
            MemoryStore::Private => &self.private,
            MemoryStore::Shared => &self.shared,
            MemoryStore::Social => &self.social,
        }
    }

    fn single(&self, path: String, file: FileText) -> Shelf {
        let mut single = self.single.lock().unwrap_or_else(PoisonError::into_inner);
        let shelf = Arc::clone(single.entry(path.clone()).or_default());
        drop(single);
        bring_up_to_date(&shelf, vec![(path, file)]);
        shelf
    }
}

/// Makes an index hold `files` and nothing else. Only what is different is indexed again.
fn bring_up_to_date(shelf: &Shelf, files: Vec<(String, FileText)>) {
    let (changed, gone) = difference(&read(shelf), files);
    if changed.is_empty() && gone.is_empty() {
        return;
    }
    let documents = changed.into_iter().map(|(path, file)| document(&path, file)).collect();
    shelf.write().unwrap_or_else(PoisonError::into_inner).change(documents, &gone);
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

/// Looks for `query` on `shelves`, and nowhere else.
#[must_use]
pub fn search_shelves(shelves: &[Shelf], query: &Query, wanted: Wanted<'_>) -> Found {
    let open: Vec<RwLockReadGuard<'_, Index>> = shelves.iter().map(read).collect();
    let indexes: Vec<&Index> = open.iter().map(|index| &**index).collect();
    search(&indexes, query, wanted)
}

/// An index in which a panic left a text half in can only find too little; the next change of that text mends it.
fn read(shelf: &Shelf) -> RwLockReadGuard<'_, Index> {
    shelf.read().unwrap_or_else(PoisonError::into_inner)
}
