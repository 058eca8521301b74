//! Notes in the store, with an index for each memory store and note scope. Before a search the store is checked for
//! newer notes, of the permitted stores only. Notes are never changed or deleted, so their number shows whether the
//! index is complete.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::id::{ConversationId, ObservationId};
use foreword_core::memory_store::MemoryStore;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_store::observations::Observation;
use foreword_store::store::Store;
use foreword_workspace::memory_index::{Document, Index, SharedIndex};
use parking_lot::RwLock;

use super::error::MemoryError;
use super::note::{MAX_TITLE_CHARS, Written, is_from_outside};
use super::note_scope::NoteScope;

/// The page size when reading notes.
const PAGE: u32 = 500;
/// The folder in the paths of notes.
const FOLDER: &str = "notes";

/// The notes of a store.
#[derive(Debug)]
pub(super) struct Notes {
    store: Store,
    indexes: RwLock<BTreeMap<(MemoryStore, NoteScope), SharedIndex>>,
}

impl Notes {
    pub(super) fn new(store: Store) -> Self {
        Self { store, indexes: RwLock::default() }
    }

    /// Up-to-date indexes of `stores`, including notes of other processes; for a reader who answers a `batch`, only the
    /// notes readable there.
    pub(super) async fn indexes(
        &self,
        stores: &[MemoryStore],
        batch: Option<&ConversationId>,
    ) -> Result<Vec<SharedIndex>, StoreError> {
        let counts = self.store.count_observations(stores).await?;
        for (store, count) in counts {
            self.catch_up(store, usize::try_from(count).unwrap_or(usize::MAX)).await?;
        }
        let indexes = self.indexes.read();
        let open = |key: &(MemoryStore, NoteScope)| stores.contains(&key.0) && key.1.is_open_to(batch);
        Ok(indexes.iter().filter(|(key, _)| open(key)).map(|(_, index)| Arc::clone(index)).collect())
    }

    /// Reads from the newest note backwards until the expected number of new notes is found. Clocks differ between
    /// nodes, so a new note may be older than known ones.
    async fn catch_up(&self, store: MemoryStore, there: usize) -> Result<(), StoreError> {
        let mut missing = there.checked_sub(self.indexed_count(store));
        if missing.is_none() {
            // Fewer notes than known: the database was replaced.
            self.forget(store);
            missing = Some(there);
        }
        let mut missing = missing.unwrap_or(0);
        let mut before: Option<Observation> = None;
        while missing > 0 {
            let page = self.store.observations(&[store], before.as_ref(), PAGE).await?;
            let Some(last) = page.last().cloned() else { break };
            for (scope, documents) in self.scoped(&page).await? {
                self.change(store, scope, |index| {
                    let known = |document: &Document| index.hash_of(&document.path).is_some();
                    let fresh: Vec<Document> = documents.into_iter().filter(|one| !known(one)).collect();
                    missing = missing.saturating_sub(fresh.len());
                    index.change(fresh, &[]);
                });
            }
            before = Some(last);
        }
        Ok(())
    }

    /// Groups notes by scope.
    async fn scoped(&self, notes: &[Observation]) -> Result<BTreeMap<NoteScope, Vec<Document>>, StoreError> {
        let mut scoped: BTreeMap<NoteScope, Vec<Document>> = BTreeMap::new();
        for note in notes {
            scoped.entry(NoteScope::of(note, &self.store).await?).or_default().push(document(note));
        }
        Ok(scoped)
    }

    pub(super) async fn write(&self, note: Observation) -> Result<Written, MemoryError> {
        let written = Written {
            path: path_of(&note),
            store: note.store,
            bytes: note.text.len(),
            from_outside: is_from_outside(&note),
        };
        let (document, scope) = (document(&note), NoteScope::of(&note, &self.store).await?);
        let id = note.id.to_string();
        if !self.store.add_observation(note).await? {
            return Err(MemoryError::IdTaken { id });
        }
        self.change(written.store, scope, |index| index.put(document));
        Ok(written)
    }

    /// Path, text and origin of the note `path`; for a reader who answers a `batch`, only if it is readable there.
    pub(super) async fn read(
        &self,
        path: &str,
        trust: Trust,
        batch: Option<&ConversationId>,
    ) -> Result<(String, Arc<str>, bool), MemoryError> {
        let missing = || MemoryError::not_there(path);
        let below = path.strip_prefix("memory/").unwrap_or(path);
        let (store, id) = below.split_once('/').ok_or_else(missing)?;
        let id = id.strip_prefix(FOLDER).and_then(|id| id.strip_prefix('/')).ok_or_else(missing)?;
        let store: MemoryStore = store.parse().map_err(|_| missing())?;
        let id = ObservationId::new(id).map_err(|_| missing())?;
        if !trust.permits(store.needed_trust()) {
            return Err(missing());
        }
        match self.store.observation(&id, &[store]).await {
            Ok(note) if !NoteScope::of(&note, &self.store).await?.is_open_to(batch) => Err(missing()),
            Ok(note) => Ok((path_of(&note), text_of(&note).into(), is_from_outside(&note))),
            Err(StoreError::NotFound { .. }) => Err(missing()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn count(&self, stores: &[MemoryStore]) -> Result<u64, MemoryError> {
        Ok(self.store.count_observations(stores).await?.values().sum())
    }

    fn indexed_count(&self, store: MemoryStore) -> usize {
        let indexes = self.indexes.read();
        let own = indexes.iter().filter(|((of, _), _)| *of == store);
        own.map(|(_, index)| index.read().documents()).sum()
    }

    fn forget(&self, store: MemoryStore) {
        self.indexes.write().retain(|(of, _), _| *of != store);
    }

    fn change(&self, store: MemoryStore, scope: NoteScope, change: impl FnOnce(&mut Index)) {
        let mut indexes = self.indexes.write();
        let index = Arc::clone(indexes.entry((store, scope)).or_default());
        drop(indexes);
        change(&mut index.write());
    }
}

fn path_of(note: &Observation) -> String {
    format!("{}/{FOLDER}/{}", note.store, note.id)
}

/// A note's text as read: its title, then its body.
fn text_of(note: &Observation) -> String {
    format!("{}{}\n", heading(&single_line(&note.title, MAX_TITLE_CHARS)), note.text.trim_end())
}

fn heading(title: &str) -> String {
    format!("# {title}\n\n")
}

fn document(note: &Observation) -> Document {
    let (title, text) = (single_line(&note.title, MAX_TITLE_CHARS), text_of(note));
    Document {
        path: path_of(note).into(),
        // The title is already indexed as the description.
        body: heading(&title).len(),
        description: title.into(),
        hash: ContentHash::of(&text),
        text: text.into(),
        from_outside: is_from_outside(note),
    }
}
