//! SQLite: one file, one thread that writes, a few that read. Writers wait for each other in a queue instead of at the
//! file, and those that wait together are made durable together.

mod connection;
mod readers;
mod ready;
mod session;
mod watch;
mod writer;

use std::path::Path;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use tokio::sync::{broadcast, oneshot};

use super::{Access, Operation};
use crate::changes::Change;
use crate::error::StoreError;
use connection::Place;
use readers::Readers;
use writer::{Outcome, Writer};

/// How many changes are kept for listeners that are slow.
const KEPT_CHANGES: usize = 1_024;

/// An open SQLite database.
#[derive(Debug, Clone)]
pub(crate) struct Sqlite(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    place: Arc<Place>,
    writer: Writer,
    readers: Readers,
    changes: broadcast::Sender<Change>,
}

impl Sqlite {
    /// Opens the file at `path`, makes it if need be, and brings its tables up to date.
    pub(crate) fn open(path: &Path, now: Timestamp) -> Result<Self, StoreError> {
        let place = Arc::new(Place::new(path));
        let mut connection = place.create()?;
        connection::migrate(&mut connection, &place, now)?;
        let (changes, _) = broadcast::channel(KEPT_CHANGES);
        let writer = Writer::start(connection, Arc::clone(&place), changes.clone())?;
        let readers = Readers::start(&place)?;
        Ok(Self(Arc::new(Inner { place, writer, readers, changes })))
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.writer.watch();
        self.0.changes.subscribe()
    }

    /// Runs an operation on the thread it belongs to. A write is durable when this returns.
    pub(crate) async fn run<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let (answer, answered) = oneshot::channel();
        match O::ACCESS {
            Access::Read => self.0.readers.submit(Box::new(move |session| {
                // Whoever asked may be gone: then nobody is told.
                let _ = answer.send(ready::finish(operation.run(session)));
            })),
            Access::Write => self.0.writer.submit(Box::new(move |session| {
                let result = session.and_then(|session| ready::finish(operation.run(session)));
                let keep = result.is_ok();
                let tell = move |durable: Result<(), StoreError>| {
                    let _ = answer.send(durable.and(result));
                };
                Outcome { keep, tell: Box::new(tell) }
            })),
        }
        answered.await.unwrap_or_else(|_| Err(self.0.place.stopped()))
    }
}
