//! Copies of everything, made while the store is in use, and brought back into an empty one. A backup is a SQLite file
//! whichever engine it comes from, so it is also the way from one engine to the other.

mod copy;
mod partial;
mod restore;
mod vacuum;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::engine::sqlite::background;
use crate::engine::sqlite::place::Place;
use crate::error::StoreError;
use crate::migrations;
use crate::progress::Progress;
use crate::store::{Engine, Store};
use partial::Partial;

/// What to do with a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Leave it, and make no backup.
    Keep,
    /// Replace it, once the new backup is complete.
    Replace,
}

/// A backup that was made and read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Backup {
    /// Where it is.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// How many rows it holds.
    pub rows: u64,
    /// The version of its tables.
    pub schema_version: u32,
}

/// What was brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// How many rows.
    pub rows: u64,
    /// The version of the tables in the backup.
    pub schema_version: u32,
}

/// Who hears how far it has come.
type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

impl Store {
    /// Copies everything, as it is at one moment, into a new file at `to`, which only its owner may read. The store can
    /// be used meanwhile. The file gets its name when it is complete, checked and on the disk; before that, nothing
    /// stands there. `progress` hears how much was copied, of about how much: bytes from SQLite, rows from Postgres.
    ///
    /// # Errors
    /// If there is a file already that is to be kept, or the copy can't be made.
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
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<Backup, StoreError> {
        let place = Place::new(to);
        let listener: Listener = Arc::new(progress);
        let to = to.to_owned();
        let (complete, rows) = match self.engine() {
            Engine::Sqlite(sqlite) => {
                let source = Arc::clone(sqlite.place());
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
            Ok(Backup { path, bytes, rows, schema_version: migrations::known() })
        };
        background::run("foreword-backup", &place, finish).await
    }

    /// Brings everything back from a backup into this store, which must be empty: all of it or nothing. The backup is
    /// left as it is; an older one is brought up to date in a copy. `progress` hears how many rows were written, of how
    /// many.
    ///
    /// # Errors
    /// If the file is no backup, is damaged or newer than this program, or if something is stored here already.
    pub async fn restore(
        &self,
        from: &Path,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<Restored, StoreError> {
        let place = Place::new(from);
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
