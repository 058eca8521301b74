//! The agent's memory: memory files and the agent's notes, searched together, read by lines, written as notes. Trust is
//! applied before anything is opened or counted; text that may be from outside is always marked as such. Knows nothing
//! about models; [`crate::tools`] defines the tools.

mod answer;
mod error;
mod events;
mod menu;
mod note;
mod note_scope;
mod notes;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::memory_store::MemoryStore;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::memory_index::{
    Lines, Passage, Query, Reader, SearchLimits, SharedIndex, read_file, search_indexes,
};
use foreword_workspace::snapshot::Snapshot;

pub use answer::{MemoryAnswer, Read, Results, Snippet};
pub use error::MemoryError;
pub use events::{search_event, write_event};
pub use menu::menu_of;
pub use note::{NewNote, Written};

use notes::Notes;

/// The maximum number of results.
const MAX_RESULTS: usize = 8;
/// The maximum number of results per note.
const RESULTS_PER_NOTE: usize = 3;
/// The maximum size of a snippet, in tokens.
const SNIPPET_TOKENS: usize = 60;

/// An agent's memory. Cheap to clone; clones share their state.
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
    /// The inbox batch being answered, if there is one.
    batch: Option<ConversationId>,
}

impl Memory {
    /// Memory files of a workspace, and the notes in `store`.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { notes: Some(Arc::new(Notes::new(store))), batch: None }
    }

    /// Memory files only, without a store.
    #[must_use]
    pub fn of_files() -> Self {
        Self { notes: None, batch: None }
    }

    /// This memory as read while answering the inbox batch in `conversation`: without notes made during other batches,
    /// because one sender's messages must not reach another.
    #[must_use]
    pub fn for_batch(&self, conversation: ConversationId) -> Self {
        Self { notes: self.notes.clone(), batch: Some(conversation) }
    }

    /// Searches the files and notes that `reader` may see, the best match first, in their current state.
    ///
    /// # Errors
    /// If `reader` has no access to memory, the query has no terms, or the notes cannot be read.
    pub async fn search(
        &self,
        snapshot: Arc<Snapshot>,
        reader: Reader,
        query: &str,
    ) -> Result<Results, MemoryError> {
        let stores = permitted(reader.trust)?;
        let looked_for = Query::new(query);
        if looked_for.is_empty() {
            return Err(MemoryError::EmptyQuery);
        }
        let notes = match &self.notes {
            Some(notes) => notes.indexes(&stores, self.batch.as_ref()).await?,
            None => Vec::new(),
        };
        // Blocking: reads files and counts tokens.
        let find = move || find(&snapshot, &reader, notes, &looked_for);
        let (snippets, matches) =
            tokio::task::spawn_blocking(find).await.map_err(|_| MemoryError::Interrupted)?;
        Ok(Results { query: query.to_owned(), stores, snippets, matches })
    }

    /// Reads the lines `lines` of `path`.
    ///
    /// # Errors
    /// If the note does not exist for `reader`, has no such lines, or cannot be read.
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

    /// Stores a note. Text that is neither the owner's nor the agent's own, and everything from a turn that has read
    /// text from outside, is permanently marked as text from outside.
    ///
    /// # Errors
    /// If the store needs more than the turn's trust, the note is too long or empty, or it cannot be stored.
    pub async fn write(&self, note: NewNote) -> Result<Written, MemoryError> {
        permitted(note.trust)?;
        let notes = self.notes.as_ref().ok_or(MemoryError::NoStore)?;
        notes.write(note.checked()?).await
    }

    /// The number of notes that `trust` may see.
    ///
    /// # Errors
    /// If they cannot be counted.
    pub async fn note_count(&self, trust: Trust) -> Result<u64, MemoryError> {
        match (&self.notes, permitted(trust)) {
            (Some(notes), Ok(stores)) => notes.count(&stores).await,
            _ => Ok(0),
        }
    }
}

/// The token counter of the agent's model.
fn counter_of(config: &Config) -> Tokenizer {
    config.models.resolve(&config.agent.model).map_or(Tokenizer::Estimate, |model| model.tokenizer)
}

fn permitted(trust: Trust) -> Result<Vec<MemoryStore>, MemoryError> {
    let stores = MemoryStore::permitted(trust);
    if stores.is_empty() { Err(MemoryError::NoMemory { trust }) } else { Ok(stores) }
}

fn find(
    snapshot: &Snapshot,
    reader: &Reader,
    notes: Vec<SharedIndex>,
    query: &Query,
) -> (Vec<Snippet>, usize) {
    let mut indexes = snapshot.memory_indexes(reader);
    indexes.extend(notes);
    let counter = counter_of(&snapshot.config);
    let wanted = SearchLimits {
        limit: MAX_RESULTS,
        per_document: RESULTS_PER_NOTE,
        snippet_tokens: SNIPPET_TOKENS,
        counter: counter.get(),
    };
    let found = search_indexes(&indexes, query, wanted);
    // A path that needs escaping could not be passed to a tool as written.
    let callable = |path: &str| single_line(path, usize::MAX) == path;
    let hits = found.hits.into_iter().filter(|hit| callable(&hit.document.path));
    (hits.map(|hit| Snippet::priced(hit, snapshot, counter)).collect(), found.matches)
}
