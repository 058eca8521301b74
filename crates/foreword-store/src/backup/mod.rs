//! Online backup of the whole store, and restore into an empty store. A backup is a SQLite file for both engines, so
//! it is also the way to migrate from one engine to the other.

pub(crate) mod before_migration;
mod copy;
mod partial;
mod restore;
mod vacuum;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::engine::migrations;
use crate::engine::sqlite::background;
use crate::engine::sqlite::file::DatabaseFile;
use crate::error::StoreError;
use crate::progress::WorkProgress;
use crate::store::{Engine, Store};
use partial::Partial;

/// What to do if the target file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep the file and fail.
    Keep,
    /// Replace the file once the new backup is complete.
    Replace,
}

/// A finished and verified backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Backup {
    /// The path of the backup file.
    pub path: PathBuf,
    /// The file size in bytes.
    pub bytes: u64,
    /// The total number of rows.
    pub rows: u64,
    /// The schema version of its tables.
    pub schema_version: u32,
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The number of rows restored.
    pub rows: u64,
    /// The schema version of the backup.
    pub schema_version: u32,
}

/// Receives progress.
type Listener = Arc<dyn Fn(WorkProgress) + Send + Sync>;

impl Store {
    /// Copies one snapshot of the store into a new file at `to`, which only its owner can read. The store stays
    /// usable. The file is renamed to `to` only after it is complete, verified and synced. `progress` receives the
    /// copied and the estimated total amount: bytes for SQLite, rows for Postgres.
    ///
    /// # Errors
    /// If the file exists and `existing` is [`Existing::Keep`], or the copy fails.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use foreword_store::backup::Existing;
    /// use foreword_store::location::Location;
    /// use foreword_store::store::Store;
    /// use foreword_store::templates::NewTemplate;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let now = "2026-11-16T08:00:00Z".parse()?;
    /// let store = Store::open(&Location::file(folder.path().join("foreword.db")), now).await?;
    /// store.add_template(NewTemplate::new("You are kind.", "alice", now)).await?;
    /// let copy = folder.path().join("monday.db");
    /// store.backup(&copy, Existing::Keep, |_| {}).await?;
    ///
    /// let other = Store::open(&Location::file(folder.path().join("other.db")), now).await?;
    /// other.restore(&copy, |_| {}).await?;
    /// assert_eq!(other.template().await?, store.template().await?);
    /// # Ok(()) }
    /// ```
    pub async fn backup(
        &self,
        to: &Path,
        existing: Existing,
        progress: impl Fn(WorkProgress) + Send + Sync + 'static,
    ) -> Result<Backup, StoreError> {
        let place = DatabaseFile::new(to);
        let listener: Listener = Arc::new(progress);
        let to = to.to_owned();
        let (complete, rows) = match self.engine() {
            Engine::Sqlite(sqlite) => {
                let source = Arc::clone(sqlite.file());
                let copy = move || {
                    let partial = Partial::beside(&to, existing, Some(&source))?;
                    vacuum::into(&source, &partial, listener.as_ref())?;
                    Ok((partial, None))
                };
                background::run("foreword-backup", &place, copy).await?
            }
            Engine::Postgres(_) => {
                let (partial, rows) = self.run(copy::CopyOut { to, existing, listener }).await?;
                (partial, Some(rows))
            }
        };
        let finish = move || {
            let rows = verify::backup(complete.path(), rows.as_deref())?;
            let (path, bytes) = complete.finish(existing)?;
            Ok(Backup { path, bytes, rows, schema_version: migrations::latest_version() })
        };
        background::run("foreword-backup", &place, finish).await
    }

    /// Restores a backup into this store in one transaction. The store must be empty. The backup file is not changed;
    /// an older one is migrated in a copy. `progress` receives the rows written and the total.
    ///
    /// # Errors
    /// If the file is not a backup, is damaged or newer than this program, or if the store is not empty.
    pub async fn restore(
        &self,
        from: &Path,
        progress: impl Fn(WorkProgress) + Send + Sync + 'static,
    ) -> Result<Restored, StoreError> {
        let place = DatabaseFile::new(from);
        let from = from.to_owned();
        let source =
            background::run("foreword-restore", &place, move || restore::Source::open(&from)).await?;
        let schema_version = source.version;
        let numbers = match self.engine() {
            Engine::Sqlite(_) => restore::Numbers::ByTheRows,
            Engine::Postgres(_) => restore::Numbers::BySequences,
        };
        let into = self.location().to_string();
        let rows = self.run(restore::CopyIn { source, into, numbers, listener: Arc::new(progress) }).await?;
        Ok(Restored { rows, schema_version })
    }
}
