//! The threads that read. Each sees the last committed state when a job begins, and keeps seeing it until the job ends.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rusqlite::Connection;

use super::connection::Place;
use super::session::Session;
use crate::error::StoreError;

/// How many read at once.
const READERS: usize = 4;

/// Work for a reading thread.
pub(super) type Job = Box<dyn FnOnce(&mut Session<'_>) + Send>;

/// The way to the reading threads. They end when nobody can reach them any more.
#[derive(Debug)]
pub(super) struct Readers {
    jobs: Sender<Job>,
}

impl Readers {
    pub(super) fn start(place: &Arc<Place>) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..READERS {
            let connection = place.connect_reader()?;
            let (waiting, place) = (Arc::clone(&waiting), Arc::clone(place));
            let failed = {
                let place = Arc::clone(&place);
                move |error| StoreError::Unreachable {
                    place: place.name(),
                    reason: format!("no thread: {error}"),
                }
            };
            thread::Builder::new()
                .name("foreword-reader".to_owned())
                .spawn(move || work(connection, &place, &waiting))
                .map_err(failed)?;
        }
        Ok(Self { jobs })
    }

    pub(super) fn submit(&self, job: Job) {
        let _ = self.jobs.send(job);
    }
}

fn work(mut connection: Connection, place: &Arc<Place>, waiting: &Mutex<Receiver<Job>>) {
    loop {
        // Whoever holds the lock waits for the next job; the others wait for the lock, which is the same.
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        // If no snapshot can be had, each statement sees a moment of its own, or says why it can't.
        let _ = connection.execute_batch("BEGIN");
        job(&mut Session::new(&mut connection, place));
        let _ = connection.execute_batch("COMMIT");
    }
}
