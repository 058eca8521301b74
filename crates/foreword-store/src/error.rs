//! Errors of the store. Variants are what a caller can decide by. The message says what happened and where, and
//! [`StoreError::help`] what to do. Neither contains secrets or stored text.

use std::sync::Arc;

use foreword_core::store_url::BadStoreUrl;

use foreword_prompt::layer_update::Refused;

/// An error of the store. Cheap to clone, because one failure can be the result of several callers.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// An invalid location.
    #[error(transparent)]
    Location(#[from] BadStoreUrl),
    /// The database can't be opened or reached.
    #[error("can't open the database `{place}`: {reason}")]
    Unreachable {
        /// The database's path or address, without secrets.
        place: String,
        /// The cause.
        reason: String,
    },
    /// The file or database belongs to another program.
    #[error("`{place}` is not a Foreword database: {reason}")]
    Foreign {
        /// The database's path or address.
        place: String,
        /// What shows it.
        reason: String,
    },
    /// A newer Foreword has migrated the database.
    #[error("the database `{place}` has schema version {found}, this program knows {known}")]
    NewerSchema {
        /// The database's path or address.
        place: String,
        /// The schema version found.
        found: u32,
        /// The newest version this program supports.
        known: u32,
    },
    /// The file is damaged.
    #[error("the database `{place}` is damaged: {reason}")]
    Corrupt {
        /// The database's path or address.
        place: String,
        /// The engine's message.
        reason: String,
    },
    /// The disk is full.
    #[error("no room to write to the database `{place}`")]
    Full {
        /// The database's path or address.
        place: String,
    },
    /// The database is read-only.
    #[error("the database `{place}` can't be written: {reason}")]
    ReadOnly {
        /// The database's path or address.
        place: String,
        /// The engine's message.
        reason: String,
    },
    /// Another process holds the write lock for too long.
    #[error("the database `{place}` is locked by another process")]
    Locked {
        /// The database's path or address.
        place: String,
    },
    /// The connection was lost and could not be re-established in time. Nothing was written.
    #[error("the connection to the database `{place}` was lost: {reason}")]
    Disconnected {
        /// The database's path or address.
        place: String,
        /// The engine's message.
        reason: String,
    },
    /// The connection was lost during a commit, and the server could not be asked for the outcome.
    #[error(
        "the connection to the database `{place}` was lost during a write, which may have succeeded: {reason}"
    )]
    Uncertain {
        /// The database's path or address.
        place: String,
        /// The engine's message.
        reason: String,
    },
    /// There is no such record.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// The kind of record.
        what: &'static str,
        id: String,
    },
    /// An edit conflict: the record has another version than expected.
    #[error("{what} `{id}` is at version {found}, not {expected}")]
    VersionConflict {
        /// The kind of record.
        what: &'static str,
        id: String,
        /// The version the caller expected.
        expected: u64,
        /// The current version.
        found: u64,
    },
    /// The text is not allowed for the layer.
    #[error(transparent)]
    LayerRefused(#[from] Refused),
    /// The caller's lease was lost: another node has taken it over, or the record has ended.
    #[error("{what} `{id}` is no longer held with fence {fence}: {}", held_by(.holder.as_deref()))]
    LeaseLost {
        /// The kind of record.
        what: &'static str,
        id: String,
        /// The caller's fencing token.
        fence: u64,
        /// The current holder; `None` if the record has ended.
        holder: Option<String>,
    },
    /// The id or key was used before for other content.
    #[error("{what} `{id}` was used before for other content")]
    UsedBefore {
        /// The kind of id.
        what: &'static str,
        id: String,
    },
    /// The change is not allowed.
    #[error("{what} `{id}` can't be changed: {reason}")]
    Refused {
        /// The kind of record.
        what: &'static str,
        id: String,
        reason: String,
    },
    /// A stored text does not match its hash.
    #[error("{what} `{id}` is damaged: it does not match its hash")]
    Damaged {
        /// The kind of record.
        what: &'static str,
        id: String,
    },
    /// Another turn has consumed it.
    #[error("{what} `{id}` belongs to turn `{turn}`")]
    Taken {
        /// The kind of record.
        what: &'static str,
        id: String,
        /// The id of that turn.
        turn: String,
    },
    /// The target file exists.
    #[error("the file exists: `{place}`")]
    Exists {
        /// Its path.
        place: String,
    },
    /// The backup before a migration can't be written, so the database was not migrated.
    #[error("can't back up the database `{place}` before its migration: {reason}")]
    NoBackup {
        /// The database's path.
        place: String,
        /// The cause.
        reason: String,
    },
    /// The store must be empty but is not.
    #[error("the database `{place}` is not empty: there are rows in `{table}`")]
    NotEmpty {
        /// The database's path or address.
        place: String,
        /// The first table with rows.
        table: &'static str,
    },
    /// A text contains a zero byte, which Postgres can't store.
    #[error("a text with a zero byte can't be stored")]
    ZeroByte,
    /// Stored data can't be decoded.
    #[error("can't decode stored data: {what}")]
    Unreadable {
        /// The column or record.
        what: String,
    },
    /// Another error of the engine.
    #[error("the database `{place}` refused: {reason}")]
    Engine {
        /// The database's path or address.
        place: String,
        /// The engine's message.
        reason: Arc<str>,
    },
}

fn held_by(holder: Option<&str>) -> String {
    holder.map_or_else(|| "it has ended".to_owned(), |holder| format!("`{holder}` holds it"))
}

impl StoreError {
    /// What the user can do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Location(bad) => bad.help(),
            Self::Unreachable { .. } => {
                "check `store.url`, that the file or server exists, and your permissions"
            }
            Self::Foreign { .. } => "set `store.url` to another file or database",
            Self::NewerSchema { .. } => "use the newer Foreword that migrated it, or restore an older backup",
            Self::Corrupt { .. } => "keep the file, and restore a backup: `foreword store restore FILE`",
            Self::Full { .. } => "free some space and retry: nothing was written",
            Self::ReadOnly { .. } => "check the permissions of the file and its folder",
            Self::Locked { .. } => "find the process that uses it, and retry",
            Self::Disconnected { .. } => "check that the server runs, and retry: nothing was written",
            Self::Uncertain { .. } => {
                "check that the server runs, and look whether it was written before you retry"
            }
            Self::NotFound { .. } => "list the existing ones",
            Self::VersionConflict { .. } => "read it again and retry with the new version",
            Self::LayerRefused(refused) => match refused {
                Refused::Unknown { .. } | Refused::Immutable { .. } => "write one of the mutable layers",
                Refused::Blank { .. } => "write a text, or roll back to an earlier version",
                Refused::TooLong { .. } => "make the text shorter",
                Refused::TotalTooLong { .. } => "make this layer or another one shorter",
            },
            Self::LeaseLost { .. } => "stop: the other node continues it",
            Self::UsedBefore { .. } => {
                "use a new id or key for new content; reuse one only to repeat the same request"
            }
            Self::Refused { .. } => "read it again and check the request",
            Self::Damaged { .. } => {
                "keep the database, and restore a backup; compacting a conversation repairs it"
            }
            Self::Taken { .. } => "discard the result: another turn has consumed it",
            Self::Exists { .. } => "choose another file, or allow replacing it",
            Self::NoBackup { .. } => {
                "make room next to the database, move old backups away, and retry: nothing was changed"
            }
            Self::NotEmpty { .. } => "restore into a new database: set `store.url` to one",
            Self::ZeroByte => "remove the zero bytes",
            Self::Unreadable { .. } => "see `foreword store check`",
            Self::Engine { .. } => "see `foreword store check`, and the server's log",
        }
    }
}
