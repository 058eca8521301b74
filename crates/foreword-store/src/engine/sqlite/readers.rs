//! A pool of reader threads. Each job runs on a snapshot of the last committed state.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::connection;
use super::file::DatabaseFile;
use super::poll_once::poll_once;
use super::session::Session;
use crate::engine::Transaction;
use crate::engine::job::Job;
use crate::error::StoreError;

/// The number of reader threads.
const READERS: usize = 4;

enum Message {
    Job(Box<dyn Job>),
    Close,
}

/// A handle to the reader threads. They exit on `close`, or when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Readers {
    jobs: Sender<Message>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Readers {
    pub(super) fn start(place: &Arc<DatabaseFile>) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let start = |_| {
            let connection = connection::connect_reader(place)?;
            let (waiting, its_place) = (Arc::clone(&waiting), Arc::clone(place));
            thread::Builder::new()
                .name("foreword-reader".to_owned())
                .spawn(move || work(connection, &its_place, &waiting))
                .map_err(|error| place.no_thread(&error))
        };
        let threads = (0..READERS).map(start).collect::<Result<_, _>>()?;
        Ok(Self { jobs, threads: Mutex::new(threads) })
    }

    pub(super) fn submit(&self, job: Box<dyn Job>) {
        let _ = self.jobs.send(Message::Job(job));
    }

    /// Waits until all submitted jobs are done and the threads have exited.
    pub(super) fn close(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        for _ in &threads {
            let _ = self.jobs.send(Message::Close);
        }
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn work(mut connection: Connection, place: &Arc<DatabaseFile>, waiting: &Mutex<Receiver<Message>>) {
    loop {
        // One thread waits for a job while holding the lock; the others wait for the lock.
        let next = waiting.lock().recv();
        let Ok(Message::Job(mut job)) = next else { return };
        // Without a snapshot each statement reads its own state, or returns the error.
        let _ = connection.execute_batch("BEGIN");
        let session = Session { connection: &mut connection, place, announced: &mut Vec::new() };
        let result = poll_once(place, job.run(&mut Transaction::Sqlite(session)));
        job.reply(result);
        if !connection.is_autocommit() {
            // Releases the snapshot, which would block checkpoints.
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
}
