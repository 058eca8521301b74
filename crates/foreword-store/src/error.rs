//! Why something could not be stored or found. Variants are what a caller can choose by; the text says what happened,
//! where, and [`StoreError::help`] what to do. No secret and nobody's text is in either.

use std::sync::Arc;

use foreword_core::store_url::BadStoreUrl;

use foreword_prompt::layer_update::Refused;

/// Why the store did not do it. Cheap to clone: one failure can be the answer to several callers.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// No place for a store.
    #[error(transparent)]
    Location(#[from] BadStoreUrl),
    /// The database can't be opened or reached.
    #[error("can't open the database `{place}`: {reason}")]
    Unreachable {
        /// Where, without secrets.
        place: String,
        /// Why.
        reason: String,
    },
    /// The file or database is somebody else's.
    #[error("`{place}` is no Foreword database: {reason}")]
    Foreign {
        /// Where.
        place: String,
        /// How we know.
        reason: String,
    },
    /// A newer Foreword has been here.
    #[error("the database `{place}` has schema version {found}, this program knows {known}")]
    NewerSchema {
        /// Where.
        place: String,
        /// What it has.
        found: u32,
        /// What we know.
        known: u32,
    },
    /// The file is damaged.
    #[error("the database `{place}` is damaged: {reason}")]
    Corrupt {
        /// Where.
        place: String,
        /// What the engine says.
        reason: String,
    },
    /// No room.
    #[error("no room to write to the database `{place}`")]
    Full {
        /// Where.
        place: String,
    },
    /// May not be written.
    #[error("the database `{place}` can't be written: {reason}")]
    ReadOnly {
        /// Where.
        place: String,
        /// What the engine says.
        reason: String,
    },
    /// Somebody else is writing and does not end.
    #[error("the database `{place}` is locked by another process")]
    Locked {
        /// Where.
        place: String,
    },
    /// The connection was lost and could not be had again in time. Nothing was written.
    #[error("the connection to the database `{place}` was lost: {reason}")]
    Disconnected {
        /// Where.
        place: String,
        /// What the engine says.
        reason: String,
    },
    /// The connection was lost while a write was made durable, and the server could not be asked what became of it.
    #[error(
        "the connection to the database `{place}` was lost during a write, which may have been made: {reason}"
    )]
    Uncertain {
        /// Where.
        place: String,
        /// What the engine says.
        reason: String,
    },
    /// The thing asked for is not there.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        id: String,
    },
    /// Somebody else was faster.
    #[error("{what} `{id}` is at version {found}, not {expected}")]
    VersionConflict {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        id: String,
        /// What it was thought to be at.
        expected: u64,
        /// What it is at.
        found: u64,
    },
    /// A layer that may not have this text.
    #[error(transparent)]
    LayerRefused(#[from] Refused),
    /// Somebody else has it now, or it has ended: whoever asked was thought dead and may not write any more.
    #[error("{what} `{id}` is no longer held with fence {fence}: {}", held_by(.holder.as_deref()))]
    LeaseLost {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        id: String,
        /// The fence of whoever asked.
        fence: u64,
        /// Who holds it now; nobody, if it has ended.
        holder: Option<String>,
    },
    /// Something else was stored under the same name before.
    #[error("{what} `{id}` was used before for something else")]
    UsedBefore {
        /// The kind of name.
        what: &'static str,
        /// The name.
        id: String,
    },
    /// What was asked for would do harm.
    #[error("{what} `{id}` can't be changed like that: {reason}")]
    Refused {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        id: String,
        /// Why not.
        reason: String,
    },
    /// A stored text that is no longer what was stored.
    #[error("{what} `{id}` is damaged: it is not what was stored")]
    Damaged {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        id: String,
    },
    /// Another turn has dealt with it.
    #[error("{what} `{id}` belongs to turn `{turn}`")]
    Taken {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        id: String,
        /// Whose it is.
        turn: String,
    },
    /// Something stands where something new was to be made.
    #[error("there is a file already: `{place}`")]
    Exists {
        /// Where.
        place: String,
    },
    /// A store that should hold nothing yet holds something.
    #[error("the database `{place}` is not empty: there are rows in `{table}`")]
    NotEmpty {
        /// Where.
        place: String,
        /// The first table that has rows.
        table: &'static str,
    },
    /// A text that not every engine can hold.
    #[error("a text with a zero byte can't be stored")]
    ZeroByte,
    /// What is stored makes no sense to this program.
    #[error("something stored can't be read: {what}")]
    Unreadable {
        /// What.
        what: String,
    },
    /// Anything else the engine says.
    #[error("the database `{place}` refused: {reason}")]
    Engine {
        /// Where.
        place: String,
        /// What the engine says.
        reason: Arc<str>,
    },
}

fn held_by(holder: Option<&str>) -> String {
    holder.map_or_else(|| "it has ended".to_owned(), |holder| format!("`{holder}` holds it"))
}

impl StoreError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Location(bad) => bad.help(),
            Self::Unreachable { .. } => "check `store.url`, that the place exists, and that it may be used",
            Self::Foreign { .. } => "name another file or database in `store.url`",
            Self::NewerSchema { .. } => {
                "use the newer Foreword that has written it, or restore an older backup"
            }
            Self::Corrupt { .. } => "keep the file, and restore a backup: `foreword store restore FILE`",
            Self::Full { .. } => "make room, and do it again: nothing of it was written",
            Self::ReadOnly { .. } => "check who may write to the file and to its folder",
            Self::Locked { .. } => "see which process uses it, and try again",
            Self::Disconnected { .. } => "see whether the server runs, and try again: nothing was written",
            Self::Uncertain { .. } => "see whether the server runs, and look before it is done again",
            Self::NotFound { .. } => "list what there is",
            Self::VersionConflict { .. } => "read it again, and decide anew",
            Self::LayerRefused(refused) => match refused {
                Refused::Unknown { .. } | Refused::Immutable { .. } => "write one of the mutable layers",
                Refused::Blank { .. } => "say something, or roll it back to an earlier version",
                Refused::TooLong { .. } => "make the text shorter",
                Refused::TotalTooLong { .. } => "make this layer or another one shorter",
            },
            Self::LeaseLost { .. } => "stop: whoever holds it goes on with it",
            Self::UsedBefore { .. } => {
                "use a new id or key for something new, and the old one only to say the same again"
            }
            Self::Refused { .. } => "read it again, and ask for less",
            Self::Damaged { .. } => {
                "keep the database, and restore a backup; a conversation goes on once it is compacted"
            }
            Self::Taken { .. } => "drop what was made for it: it has been dealt with",
            Self::Exists { .. } => "name another file, or say that it may be replaced",
            Self::NotEmpty { .. } => "restore into a new database: name one in `store.url`",
            Self::ZeroByte => "take the zero bytes out of it",
            Self::Unreadable { .. } => "see `foreword store check`",
            Self::Engine { .. } => "see `foreword store check`, and the server's log",
        }
    }
}
