//! The notes in the store, with an index for each memory store and each place that notes in it belong to. Before a search the store is asked whether there are
//! newer ones, of the permitted stores alone; notes are never changed or deleted, so a number says whether all are known.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use foreword_core::id::{ConversationId, ObservationId};
use foreword_core::memory_store::MemoryStore;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_store::observations::Observation;
use foreword_store::store::Store;
use foreword_workspace::memory_index::{Document, Index, Shelf};

use super::error::MemoryError;
use super::note::{LONGEST_TITLE, Written, is_from_outside};
use super::place::Place;

/// How many notes are read at once.
const PAGE: u32 = 500;
/// The folder that notes seem to be in.
const FOLDER: &str = "notes";

/// The notes of a store.
#[derive(Debug)]
pub(super) struct Notes {
    store: Store,
    shelves: RwLock<BTreeMap<(MemoryStore, Place), Shelf>>,
}

impl Notes {
    pub(super) fn new(store: Store) -> Self {
        Self { store, shelves: RwLock::default() }
    }

    /// The indexes of `stores`, with everything in them that was kept up to now, by whichever process; for whoever answers
    /// a `batch`, what may be read there.
    pub(super) async fn shelves(
        &self,
        stores: &[MemoryStore],
        batch: Option<&ConversationId>,
    ) -> Result<Vec<Shelf>, StoreError> {
        let counts = self.store.count_observations(stores).await?;
        for (store, count) in counts {
            self.catch_up(store, usize::try_from(count).unwrap_or(usize::MAX)).await?;
        }
        let shelves = self.shelves.read().unwrap_or_else(PoisonError::into_inner);
        let open = |(store, place): &(MemoryStore, Place)| stores.contains(store) && place.is_open_to(batch);
        Ok(shelves.iter().filter(|(key, _)| open(key)).map(|(_, shelf)| Arc::clone(shelf)).collect())
    }

    /// Reads from the newest on until as many new ones were found as there must be. Clocks differ between nodes, so a
    /// new one may stand behind some that are known.
    async fn catch_up(&self, store: MemoryStore, there: usize) -> Result<(), StoreError> {
        let mut missing = there.checked_sub(self.known(store));
        if missing.is_none() {
            // Fewer than are known: this is another database than before.
            self.forget(store);
            missing = Some(there);
        }
        let mut missing = missing.unwrap_or(0);
        let mut before: Option<Observation> = None;
        while missing > 0 {
            let page = self.store.observations(&[store], before.as_ref(), PAGE).await?;
            let Some(last) = page.last().cloned() else { break };
            for (place, documents) in self.placed(&page).await? {
                self.change((store, place), |index| {
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

    /// Notes by where they belong.
    async fn placed(&self, notes: &[Observation]) -> Result<BTreeMap<Place, Vec<Document>>, StoreError> {
        let mut placed: BTreeMap<Place, Vec<Document>> = BTreeMap::new();
        for note in notes {
            placed.entry(Place::of(note, &self.store).await?).or_default().push(document(note));
        }
        Ok(placed)
    }

    pub(super) async fn write(&self, note: Observation) -> Result<Written, MemoryError> {
        let written = Written {
            path: path_of(&note),
            store: note.store,
            bytes: note.text.len(),
            from_outside: is_from_outside(&note),
        };
        let (document, place) = (document(&note), Place::of(&note, &self.store).await?);
        let id = note.id.to_string();
        if !self.store.add_observation(note).await? {
            return Err(MemoryError::IdTaken { id });
        }
        self.change((written.store, place), |index| index.put(document));
        Ok(written)
    }

    /// Path, text and whether it is from outside of the note that memory calls `path`; for whoever answers a `batch`, if it
    /// may be read there.
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
            Ok(note) if !Place::of(&note, &self.store).await?.is_open_to(batch) => Err(missing()),
            Ok(note) => Ok((path_of(&note), text_of(&note).into(), is_from_outside(&note))),
            Err(StoreError::NotFound { .. }) => Err(missing()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn count(&self, stores: &[MemoryStore]) -> Result<u64, MemoryError> {
        Ok(self.store.count_observations(stores).await?.values().sum())
    }

    fn known(&self, store: MemoryStore) -> usize {
        let shelves = self.shelves.read().unwrap_or_else(PoisonError::into_inner);
        let own = shelves.iter().filter(|((of, _), _)| *of == store);
        own.map(|(_, shelf)| shelf.read().unwrap_or_else(PoisonError::into_inner).documents()).sum()
    }

    fn forget(&self, store: MemoryStore) {
        self.shelves.write().unwrap_or_else(PoisonError::into_inner).retain(|(of, _), _| *of != store);
    }

    fn change(&self, key: (MemoryStore, Place), change: impl FnOnce(&mut Index)) {
        let mut shelves = self.shelves.write().unwrap_or_else(PoisonError::into_inner);
        let shelf = Arc::clone(shelves.entry(key).or_default());
        drop(shelves);
        change(&mut shelf.write().unwrap_or_else(PoisonError::into_inner));
    }
}

fn path_of(note: &Observation) -> String {
    format!("{}/{FOLDER}/{}", note.store, note.id)
}

/// A note as it is read: its title, then what it says.
fn text_of(note: &Observation) -> String {
    format!("{}{}\n", heading(&single_line(&note.title, LONGEST_TITLE)), note.text.trim_end())
}

fn heading(title: &str) -> String {
    format!("# {title}\n\n")
}

fn document(note: &Observation) -> Document {
    let (title, text) = (single_line(&note.title, LONGEST_TITLE), text_of(note));
    Document {
        path: path_of(note).into(),
        // The title counts as the description already.
        body: heading(&title).len(),
        description: title.into(),
        hash: ContentHash::of(&text),
        text: text.into(),
        from_outside: is_from_outside(note),
    }
}
