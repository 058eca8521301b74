//! Errors of memory. The messages are for a model or a person and reveal nothing that trust withholds: a note the
//! reader may not see is reported as missing.

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::memory_index::LineRangeError;

use super::note::{MAX_TEXT_BYTES, MAX_TITLE_CHARS};
use crate::error::public_store_error;

/// Why a memory operation failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MemoryError {
    /// The reader has no access to memory.
    #[error("trust `{trust}` has no access to memory")]
    NoMemory {
        /// The reader's trust.
        trust: Trust,
    },
    /// The query has no terms.
    #[error("the query has no search terms")]
    EmptyQuery,
    /// The note does not exist for this reader.
    #[error("there is no note `{path}`")]
    NoteNotFound {
        /// The requested path, on one line.
        path: String,
    },
    /// The note has no such lines.
    #[error("`{path}`: {reason}")]
    NoSuchLines {
        /// The note.
        path: String,
        reason: LineRangeError,
    },
    /// The store needs more trust.
    #[error("store `{store}` is above the trust of this conversation, which is `{trust}`")]
    AboveTrust {
        store: MemoryStore,
        /// The turn's trust.
        trust: Trust,
    },
    /// An invalid title.
    #[error("a title is one line of 1 to {MAX_TITLE_CHARS} characters: {reason}")]
    Title { reason: &'static str },
    /// An invalid text.
    #[error("a note's text has 1 to {MAX_TEXT_BYTES} bytes: {reason}")]
    Text { reason: String },
    /// The random id is already in use.
    #[error("the note was not stored: id `{id}` is already in use")]
    IdTaken { id: String },
    /// There is no store for notes.
    #[error("notes can't be stored: no store is open")]
    NoStore,
    /// The store failed.
    #[error("{}", public_store_error(.0))]
    Store(#[from] StoreError),
    /// A file this reader may read cannot be read.
    #[error("this note can't be read now")]
    File(#[from] WorkspaceError),
    /// The task was cancelled.
    #[error("memory was not read to the end: the program is stopping")]
    Interrupted,
}

impl MemoryError {
    /// The error for a missing note.
    #[must_use]
    pub fn not_there(path: &str) -> Self {
        Self::NoteNotFound { path: single_line(path, 120) }
    }

    /// Advice for a model.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::EmptyQuery => "name a person, a thing or a date".to_owned(),
            Self::NoteNotFound { .. } => {
                "take a path from the memory menu or from memory_search(query), as it is written there"
                    .to_owned()
            }
            Self::NoSuchLines { .. } => {
                "ask for lines that are there, or leave `from` and `lines` out".to_owned()
            }
            Self::AboveTrust { trust, .. } => {
                let open: Vec<&str> =
                    MemoryStore::permitted(*trust).iter().map(|store| store.as_str()).collect();
                format!("use `{}`", open.join("` or `"))
            }
            Self::Title { .. } => "write one short line, and the rest into the text".to_owned(),
            Self::Text { .. } => "say what to remember, in several notes if it is long".to_owned(),
            Self::IdTaken { .. } | Self::Interrupted => "try again".to_owned(),
            Self::NoMemory { .. } | Self::NoStore => "answer without it".to_owned(),
            Self::Store(error) => error.help().to_owned(),
            Self::File(_) => "tell the owner".to_owned(),
        }
    }
}
