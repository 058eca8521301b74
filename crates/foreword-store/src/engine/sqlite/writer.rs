//! The writer thread. Queued jobs share a transaction (group commit), each in its own savepoint, so that a failed job
//! does not affect the others. If the shared commit fails, each job gets its own transaction. Callers get their
//! results after the commit.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::broadcast;

use super::file::{DatabaseFile, Identity};
use super::poll_once::poll_once;
use super::session::Session;
use super::watch::Watch;
use crate::changes::StoreChange;
use crate::engine::Transaction;
use crate::engine::job::Job;
use crate::error::StoreError;

/// The maximum number of jobs per transaction, which limits latency.
const MAX_JOBS_PER_TRANSACTION: usize = 64;

/// A job with the outcome of its last run.
struct Attempted {
    job: Box<dyn Job>,
    outcome: Result<(), StoreError>,
}

enum Message {
    Job(Box<dyn Job>),
    /// Start polling for writes of other processes.
    Watch,
    Close,
}

/// A handle to the writer thread. The thread exits on `close` or when the last handle is dropped, after the jobs that
/// were submitted before.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        place: &Arc<DatabaseFile>,
        changes: broadcast::Sender<StoreChange>,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel();
        let file = place.identity()?;
        let watch = Watch::new(&connection);
        let writer = WriterThread { connection, place: Arc::clone(place), file, changes, watch };
        let thread = thread::Builder::new()
            .name("foreword-writer".to_owned())
            .spawn(move || writer.work(&waiting))
            .map_err(|error| place.no_thread(&error))?;
        Ok(Self { jobs, thread: Mutex::new(Some(thread)) })
    }

    /// Submits a job. If the thread has exited, the job is dropped, which closes the caller's channel.
    pub(super) fn submit(&self, job: Box<dyn Job>) {
        let _ = self.jobs.send(Message::Job(job));
    }

    /// Starts notifying subscribers of writes by other processes.
    pub(super) fn watch(&self) {
        let _ = self.jobs.send(Message::Watch);
    }

    /// Waits until all submitted jobs are durable and the file is closed.
    pub(super) fn close(&self) {
        let thread = self.thread.lock().take();
        let _ = self.jobs.send(Message::Close);
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

struct WriterThread {
    connection: Connection,
    place: Arc<DatabaseFile>,
    /// The file's identity when it was opened.
    file: Identity,
    changes: broadcast::Sender<StoreChange>,
    watch: Watch,
}

impl Attempted {
    fn reply(self, durable: Result<(), StoreError>) {
        self.job.reply(durable.and(self.outcome));
    }
}

/// Why a batch of jobs failed.
enum BatchFailure {
    /// A retry of any job would fail too.
    All(StoreError),
    /// One of the jobs may be the cause.
    Some(StoreError),
}

impl WriterThread {
    fn work(mut self, waiting: &Receiver<Message>) {
        let mut open = true;
        while open {
            let jobs;
            (jobs, open) = self.next(waiting);
            self.run_batch(jobs);
            if self.watch.poll(&self.connection) {
                // There may be no subscribers.
                let _ = self.changes.send(StoreChange::Anything);
            }
        }
    }

    /// Waits for a job or the next poll. Returns the queued jobs, and whether more may come.
    fn next(&mut self, waiting: &Receiver<Message>) -> (Vec<Attempted>, bool) {
        let first = match self.watch.pause() {
            None => waiting.recv().ok(),
            Some(pause) => match waiting.recv_timeout(pause) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => return (Vec::new(), true),
                Err(RecvTimeoutError::Disconnected) => None,
            },
        };
        let Some(first) = first else { return (Vec::new(), false) };
        let mut jobs = Vec::new();
        for message in std::iter::once(first).chain(waiting.try_iter()).take(MAX_JOBS_PER_TRANSACTION) {
            match message {
                Message::Job(job) => jobs.push(Attempted { job, outcome: Ok(()) }),
                Message::Watch => self.watch.begin(),
                Message::Close => return (jobs, false),
            }
        }
        (jobs, true)
    }

    /// Runs jobs in one transaction if possible, and sends each its result.
    fn run_batch(&mut self, mut jobs: Vec<Attempted>) {
        let durable = match self.attempt(&mut jobs) {
            Ok(()) => Ok(()),
            Err(BatchFailure::Some(_)) if jobs.len() > 1 => return self.one_by_one(jobs),
            Err(BatchFailure::All(error) | BatchFailure::Some(error)) => Err(error),
        };
        jobs.into_iter().for_each(|attempted| attempted.reply(durable.clone()));
    }

    /// Runs each job in its own transaction: a small one may fit where a large one did not.
    fn one_by_one(&mut self, jobs: Vec<Attempted>) {
        let mut fatal = Ok(());
        for mut attempted in jobs {
            let durable = fatal.clone().and_then(|()| {
                self.attempt(std::slice::from_mut(&mut attempted)).map_err(|failed| match failed {
                    BatchFailure::Some(error) => error,
                    BatchFailure::All(error) => {
                        fatal = Err(error.clone());
                        error
                    }
                })
            });
            attempted.reply(durable);
        }
    }

    /// Runs jobs in one transaction. Commits all or none.
    fn attempt(&mut self, jobs: &mut [Attempted]) -> Result<(), BatchFailure> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.batch("BEGIN IMMEDIATE").map_err(BatchFailure::All)?;
        let mut announced = Vec::new();
        let done = jobs
            .iter_mut()
            .try_for_each(|attempted| self.run_in_savepoint(attempted, &mut announced))
            .and_then(|()| self.batch("COMMIT"));
        if let Err(error) = done {
            if !self.connection.is_autocommit() {
                // If the rollback fails, SQLite rolls back when the file is next opened.
                let _ = self.batch("ROLLBACK");
            }
            return Err(BatchFailure::Some(error));
        }
        self.place.still_holds(&self.file).map_err(BatchFailure::All)?;
        for change in announced {
            let _ = self.changes.send(change);
        }
        Ok(())
    }

    /// Runs a job in a savepoint. Fails if the outer transaction has ended, as on a full disk.
    fn run_in_savepoint(
        &mut self,
        attempted: &mut Attempted,
        announced: &mut Vec<StoreChange>,
    ) -> Result<(), StoreError> {
        self.batch("SAVEPOINT job")?;
        let before = announced.len();
        let session = Session { connection: &mut self.connection, place: &self.place, announced };
        attempted.outcome = poll_once(&self.place, attempted.job.run(&mut Transaction::Sqlite(session)));
        if attempted.outcome.is_err() {
            announced.truncate(before);
        }
        if self.connection.is_autocommit() {
            return attempted.outcome.clone().and_then(|()| Err(self.place.ended()));
        }
        let done = attempted.outcome.is_ok();
        self.batch(if done { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" })
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| self.place.error(&error))
    }
}
