//! SQLite: one file, one thread that writes, a few that read. Writers wait for each other in a queue instead of at the
//! file, and those that wait together are made durable together.

pub(crate) mod background;
pub(crate) mod connection;
pub(crate) mod node_locks;
pub(crate) mod place;
mod readers;
pub(crate) mod ready;
pub(crate) mod session;
mod watch;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use tokio::sync::{broadcast, oneshot};

use super::{Access, Operation};
use crate::changes::Change;
use crate::error::StoreError;
use place::Place;
use readers::Readers;
use session::Session;
use writer::{Job, Writer};

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
    pub(crate) async fn open(path: &Path, now: Timestamp) -> Result<Self, StoreError> {
        let place = Arc::new(Place::new(path));
        let inside = Arc::clone(&place);
        let open = move || {
            let mut connection = connection::create(&inside)?;
            connection::migrate(&mut connection, &inside, now)?;
            let (changes, _) = broadcast::channel(KEPT_CHANGES);
            let writer = Writer::start(connection, &inside, changes.clone())?;
            let readers = Readers::start(&inside)?;
            Ok(Self(Arc::new(Inner { place: inside, writer, readers, changes })))
        };
        background::run("foreword-open", &place, open).await
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.writer.watch();
        self.0.changes.subscribe()
    }

    pub(crate) fn place(&self) -> &Arc<Place> {
        &self.0.place
    }

    /// Runs an operation on the thread it belongs to. A write is durable when this returns.
    pub(crate) async fn run<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let (answer, answered) = oneshot::channel();
        let place = Arc::clone(&self.0.place);
        match O::ACCESS {
            Access::Read => self.0.readers.submit(Box::new(move |session| {
                // Whoever asked may be gone: then nobody is told.
                let _ = answer.send(ready::finish(&place, operation.run(session)));
            })),
            Access::Write => {
                self.0.writer.submit(Box::new(Write { operation, result: None, answer, place }));
            }
        }
        answered.await.unwrap_or_else(|_| Err(self.0.place.stopped()))
    }

    /// Waits until everything handed over is done and the file is closed, for all who share it.
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

/// An operation that writes, its result so far, and who waits for it.
struct Write<O: Operation> {
    operation: O,
    result: Option<Result<O::Output, StoreError>>,
    answer: oneshot::Sender<Result<O::Output, StoreError>>,
    place: Arc<Place>,
}

impl<O: Operation> Job for Write<O> {
    fn run(&mut self, session: &mut Session<'_>) -> Result<(), StoreError> {
        let result = ready::finish(&self.place, self.operation.run(session));
        self.result.insert(result).as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn tell(self: Box<Self>, durable: Result<(), StoreError>) {
        let result = self.result.unwrap_or_else(|| Err(self.place.stopped()));
        // Whoever asked may be gone: then nobody is told.
        let _ = self.answer.send(durable.and(result));
    }
}
