//! The SQLite engine: one file, one writer thread, several reader threads. Writes queue up for the writer thread, and
//! waiting writes share a commit.

pub(crate) mod background;
pub(crate) mod connection;
pub(crate) mod file;
pub(crate) mod migrate;
pub(crate) mod node_locks;
pub(crate) mod poll_once;
mod readers;
pub(crate) mod session;
mod watch;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use tokio::sync::broadcast;

use super::Access;
use super::job::Job;
use crate::changes::StoreChange;
use crate::error::StoreError;
use crate::migrated::Migrated;
use file::DatabaseFile;
use migrate::BackupBefore;
use readers::Readers;
use writer::Writer;

/// The capacity of the broadcast channel for slow subscribers.
const CHANGES_CAPACITY: usize = 1_024;

/// An open SQLite database.
#[derive(Debug, Clone)]
pub(crate) struct Sqlite(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    place: Arc<DatabaseFile>,
    writer: Writer,
    readers: Readers,
    changes: broadcast::Sender<StoreChange>,
}

impl Sqlite {
    /// Opens the file at `path`, creates it if missing, and migrates its tables, after a backup if it had any.
    pub(crate) async fn open(path: &Path, now: Timestamp) -> Result<(Self, Option<Migrated>), StoreError> {
        let place = Arc::new(DatabaseFile::new(path));
        let inside = Arc::clone(&place);
        let open = move || {
            let mut connection = connection::create(&inside)?;
            let migrated = migrate::migrate(&mut connection, &inside, now, BackupBefore::Write)?;
            let (changes, _) = broadcast::channel(CHANGES_CAPACITY);
            let writer = Writer::start(connection, &inside, changes.clone())?;
            let readers = Readers::start(&inside)?;
            Ok((Self(Arc::new(Inner { place: inside, writer, readers, changes })), migrated))
        };
        background::run("foreword-open", &place, open).await
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<StoreChange> {
        self.0.writer.watch();
        self.0.changes.subscribe()
    }

    pub(crate) fn file(&self) -> &Arc<DatabaseFile> {
        &self.0.place
    }

    /// Queues an operation for a reader thread or the writer thread. If they have stopped, the operation is dropped,
    /// which closes the caller's channel.
    pub(crate) fn submit(&self, job: Box<dyn Job>) {
        match job.access() {
            Access::Read => self.0.readers.submit(job),
            Access::Write => self.0.writer.submit(job),
        }
    }

    /// The error of an operation that got no answer.
    pub(crate) fn unanswered(&self) -> StoreError {
        self.0.place.stopped()
    }

    /// Waits until all submitted operations are done and the file is closed, for all clones.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        let inner = Arc::clone(&self.0);
        let close = move || {
            inner.readers.close();
            inner.writer.close();
            inner.place.node_locks().release();
            Ok(())
        };
        background::run("foreword-close", &self.0.place, close).await
    }
}
