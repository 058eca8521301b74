//! Why memory could not be searched, read or written. The texts are for a model or a person to act on; they tell nothing
//! of what trust withholds: a note that may not be seen is one that is not there.

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::memory_index::NoSuchLines;

use super::note::{LONGEST_TEXT, LONGEST_TITLE};
use crate::error::public_store_error;

/// Why memory did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MemoryError {
    /// Whoever asks has no memory at all.
    #[error("there is no memory here: `{trust}` has none")]
    NoMemory {
        /// The trust that was asked with.
        trust: Trust,
    },
    /// A question without a word.
    #[error("there is nothing to look for: the query has no word in it")]
    NothingToLookFor,
    /// No such note, for this reader.
    #[error("there is no note `{path}`")]
    NotThere {
        /// What was asked for, on one line.
        path: String,
    },
    /// A note without these lines.
    #[error("`{path}`: {reason}")]
    NoSuchLines {
        /// The note.
        path: String,
        /// What it lacks.
        reason: NoSuchLines,
    },
    /// A store that this trust does not open.
    #[error("store `{store}` is above the trust of this conversation, which is `{trust}`")]
    AboveTrust {
        /// The store.
        store: MemoryStore,
        /// The trust that was asked with.
        trust: Trust,
    },
    /// A title that is none.
    #[error("a title is one line of 1 to {LONGEST_TITLE} characters: {reason}")]
    Title {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A text that is not kept.
    #[error("a note's text has 1 to {LONGEST_TEXT} bytes: {reason}")]
    Text {
        /// What is wrong with it.
        reason: String,
    },
    /// The same id was drawn before.
    #[error("the note was not kept: its id `{id}` is taken")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// Nowhere to keep a note.
    #[error("nothing can be kept here: no store is open")]
    NoStore,
    /// The store failed.
    #[error("{}", public_store_error(.0))]
    Store(#[from] StoreError),
    /// A file that is there for this reader can't be read.
    #[error("this note can't be read now")]
    File(#[from] WorkspaceError),
    /// The work was ended from outside.
    #[error("memory was not read to the end: the program is stopping")]
    Interrupted,
}

impl MemoryError {
    /// That there is no such note, however it was called.
    #[must_use]
    pub fn not_there(path: &str) -> Self {
        Self::NotThere { path: single_line(path, 120) }
    }

    /// What a model can do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::NothingToLookFor => "name a person, a thing or a date".to_owned(),
            Self::NotThere { .. } => {
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
