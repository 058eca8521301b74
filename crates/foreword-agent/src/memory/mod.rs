//! What an agent remembers: memory files and the notes it took itself, searched together, read by lines, written as
//! notes. Trust decides before anything is opened or counted; words that may come from outside never leave here without
//! being marked as such. Knows nothing of models; [`crate::tools`] makes tools of it.

mod answer;
mod error;
mod events;
mod menu;
mod note;
mod notes;
mod place;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::memory_store::MemoryStore;
use foreword_prompt::tokens::Counter;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::memory_index::{
    Lines, Passage, Query, Reader, Shelf, Wanted, read_file, search_shelves,
};
use foreword_workspace::snapshot::Snapshot;

pub use answer::{Given, Read, Results, Snippet};
pub use error::MemoryError;
pub use events::{search_event, write_event};
pub use menu::menu_of;
pub use note::{NewNote, Written};

use notes::Notes;

/// The most results of a search.
const RESULTS: usize = 8;
/// The most of them from one note.
const RESULTS_PER_NOTE: usize = 3;
/// The most tokens of a snippet.
const SNIPPET_TOKENS: usize = 60;

/// The memory of an agent. Cheap to clone; all clones share what they know.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use foreword_agent::memory::Memory;
/// use foreword_prompt::trust::Trust;
/// use foreword_workspace::memory_index::Reader;
/// use foreword_workspace::workspace::{Environment, Workspace};
///
/// std::fs::create_dir_all(folder.path().join("memory/private"))?;
/// std::fs::write(folder.path().join("memory/private/people.md"), "- Carol: birthday 3 May\n")?;
/// let workspace = Workspace::open(folder.path(), Environment::default())?;
/// let memory = Memory::of_files();
/// let ask = |trust| memory.search(workspace.snapshot(), Reader::of(trust), "Carol's birthday");
/// assert_eq!(&*ask(Trust::Full).await?.snippets[0].path, "private/people.md");
/// assert!(ask(Trust::Inner).await?.snippets.is_empty());
/// # Ok(()) }) }
/// ```
#[derive(Debug, Clone)]
pub struct Memory {
    notes: Option<Arc<Notes>>,
    /// The batch of the inbox that is answered, if it is read for one.
    batch: Option<ConversationId>,
}

impl Memory {
    /// The memory files of a workspace, and the notes in `store`.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { notes: Some(Arc::new(Notes::new(store))), batch: None }
    }

    /// The memory files alone, where nothing was ever stored.
    #[must_use]
    pub fn of_files() -> Self {
        Self { notes: None, batch: None }
    }

    /// The same memory as whoever answers the batch of the inbox in `conversation` may read it: without what was noted
    /// over other people's messages, for what one sender wrote is no other's business.
    #[must_use]
    pub fn for_batch(&self, conversation: ConversationId) -> Self {
        Self { notes: self.notes.clone(), batch: Some(conversation) }
    }

    /// What there is about `query` that `reader` may see, the best first. Files and notes are looked at as they are now.
    ///
    /// # Errors
    /// If `reader` has no memory, there is nothing to look for, or the notes can't be read.
    pub async fn search(
        &self,
        snapshot: Arc<Snapshot>,
        reader: Reader,
        query: &str,
    ) -> Result<Results, MemoryError> {
        let stores = permitted(reader.trust)?;
        let looked_for = Query::new(query);
        if looked_for.is_empty() {
            return Err(MemoryError::NothingToLookFor);
        }
        let notes = match &self.notes {
            Some(notes) => notes.shelves(&stores, self.batch.as_ref()).await?,
            None => Vec::new(),
        };
        // Files are read and texts counted, which may take a while.
        let find = move || find(&snapshot, &reader, notes, &looked_for);
        let (snippets, matches) =
            tokio::task::spawn_blocking(find).await.map_err(|_| MemoryError::Interrupted)?;
        Ok(Results { query: query.to_owned(), stores, snippets, matches })
    }

    /// The lines `lines` of what memory calls `path`.
    ///
    /// # Errors
    /// If there is no such note for `reader`, it has no such lines, or it can't be read.
    pub async fn get(
        &self,
        snapshot: Arc<Snapshot>,
        reader: Reader,
        path: &str,
        lines: Lines,
    ) -> Result<Read, MemoryError> {
        permitted(reader.trust)?;
        let counter = counter_of(&snapshot.config);
        let (trust, wanted) = (reader.trust, path.to_owned());
        let read = move || read_file(&snapshot, &reader, &wanted);
        let file = tokio::task::spawn_blocking(read).await.map_err(|_| MemoryError::Interrupted)??;
        let (path, text, from_outside) = match (file, &self.notes) {
            (Some((path, file)), _) => (path, file.text, false),
            (None, Some(notes)) => notes.read(path, trust, self.batch.as_ref()).await?,
            (None, None) => return Err(MemoryError::not_there(path)),
        };
        let passage = Passage::of(&text, lines)
            .map_err(|reason| MemoryError::NoSuchLines { path: single_line(&path, 200), reason })?;
        let tokens = counter.get().count(&passage.text);
        Ok(Read { path, passage, tokens, from_outside })
    }

    /// Keeps a note. Words that are not the owner's or the agent's own, and whatever a turn writes that has read text
    /// from outside, are kept as such, and are given out as such for ever.
    ///
    /// # Errors
    /// If the store is above the turn's trust, the note is too long or says nothing, or it can't be stored.
    pub async fn write(&self, note: NewNote) -> Result<Written, MemoryError> {
        permitted(note.trust)?;
        let notes = self.notes.as_ref().ok_or(MemoryError::NoStore)?;
        notes.write(note.checked()?).await
    }

    /// How many notes `trust` may see.
    ///
    /// # Errors
    /// If they can't be counted.
    pub async fn note_count(&self, trust: Trust) -> Result<u64, MemoryError> {
        match (&self.notes, permitted(trust)) {
            (Some(notes), Ok(stores)) => notes.count(&stores).await,
            _ => Ok(0),
        }
    }
}

/// The counter of the model that the agent runs on.
fn counter_of(config: &Config) -> Counter {
    config.models.resolve(&config.agent.model).map_or(Counter::Estimate, |model| model.tokenizer)
}

fn permitted(trust: Trust) -> Result<Vec<MemoryStore>, MemoryError> {
    let stores = MemoryStore::permitted(trust);
    if stores.is_empty() { Err(MemoryError::NoMemory { trust }) } else { Ok(stores) }
}

fn find(snapshot: &Snapshot, reader: &Reader, notes: Vec<Shelf>, query: &Query) -> (Vec<Snippet>, usize) {
    let mut shelves = snapshot.memory_shelves(reader);
    shelves.extend(notes);
    let counter = counter_of(&snapshot.config);
    let wanted = Wanted {
        limit: RESULTS,
        per_document: RESULTS_PER_NOTE,
        snippet_tokens: SNIPPET_TOKENS,
        counter: counter.get(),
    };
    let found = search_shelves(&shelves, query, wanted);
    // A path that has to be escaped could not be called as it is written.
    let callable = |path: &str| single_line(path, usize::MAX) == path;
    let hits = found.hits.into_iter().filter(|hit| callable(&hit.document.path));
    (hits.map(|hit| Snippet::priced(hit, snapshot, counter)).collect(), found.matches)
}
