//! The threads that read. Each sees the last committed state when a job begins, and keeps seeing it until the job ends.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use super::connection;
use super::place::Place;
use super::session::Session;
use crate::error::StoreError;

/// How many read at once.
const READERS: usize = 4;

/// Work for a reading thread.
pub(super) type Job = Box<dyn FnOnce(&mut Session<'_>) + Send>;

enum Message {
    Job(Job),
    Close,
}

/// The way to the reading threads. They end when they are told to, or when nobody can reach them any more.
#[derive(Debug)]
pub(super) struct Readers {
    jobs: Sender<Message>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Readers {
    pub(super) fn start(place: &Arc<Place>) -> Result<Self, StoreError> {
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

    pub(super) fn submit(&self, job: Job) {
        let _ = self.jobs.send(Message::Job(job));
    }

    /// Waits until what was handed over is done and the threads have ended.
    pub(super) fn close(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for _ in &threads {
            let _ = self.jobs.send(Message::Close);
        }
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn work(mut connection: Connection, place: &Arc<Place>, waiting: &Mutex<Receiver<Message>>) {
    loop {
        // Whoever holds the lock waits for the next job; the others wait for the lock, which is the same.
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Message::Job(job)) = next else { return };
        // If no snapshot can be had, each statement sees a moment of its own, or says why it can't.
        let _ = connection.execute_batch("BEGIN");
        job(&mut Session::new(&mut connection, place));
        if !connection.is_autocommit() {
            // Nothing was written: what ends here is the snapshot, which would keep the log from being emptied.
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
}
