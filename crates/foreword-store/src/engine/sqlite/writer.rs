//! The one thread that writes. Jobs that are waiting when it begins share a transaction and become durable together;
//! each has a savepoint of its own, so that one that fails takes nothing else with it. If they can't become durable
//! together, each gets a transaction of its own. Nobody is told before the commit.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::broadcast;

use super::place::{Identity, Place};
use super::session::Session;
use super::watch::Watch;
use crate::changes::Change;
use crate::error::StoreError;

/// How many jobs share a transaction at most: those behind them should not wait for too long.
const JOBS_TOGETHER: usize = 64;

/// Work for the writing thread.
pub(super) trait Job: Send {
    /// Does it; if it fails, nothing of it is kept. If the transaction around it fails it is done again, and only the last
    /// time counts.
    fn run(&mut self, session: &mut Session<'_>) -> Result<(), StoreError>;

    /// Tells whoever asked, once it is known whether it is durable.
    fn tell(self: Box<Self>, durable: Result<(), StoreError>);
}

enum Message {
    Job(Box<dyn Job>),
    /// See what other processes write.
    Watch,
    Close,
}

/// The way to the writing thread. The thread ends when it is told to, or when nobody can reach it any more, and finishes
/// first what was handed over before.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        place: &Arc<Place>,
        changes: broadcast::Sender<Change>,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel();
        let file = place.identity()?;
        let watch = Watch::new(&connection);
        let desk = Desk { connection, place: Arc::clone(place), file, changes, watch };
        let thread = thread::Builder::new()
            .name("foreword-writer".to_owned())
            .spawn(move || desk.work(&waiting))
            .map_err(|error| place.no_thread(&error))?;
        Ok(Self { jobs, thread: Mutex::new(Some(thread)) })
    }

    /// Hands a job over. If the thread is gone, the job is dropped, and whoever asked finds the channel closed.
    pub(super) fn submit(&self, job: Box<dyn Job>) {
        let _ = self.jobs.send(Message::Job(job));
    }

    /// Tells listeners from now on what other processes write.
    pub(super) fn watch(&self) {
        let _ = self.jobs.send(Message::Watch);
    }

    /// Waits until what was handed over is durable and the file is closed.
    pub(super) fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.jobs.send(Message::Close);
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

struct Desk {
    connection: Connection,
    place: Arc<Place>,
    /// The file as it was when it was opened.
    file: Identity,
    changes: broadcast::Sender<Change>,
    watch: Watch,
}

/// Why jobs did not become durable.
enum Failed {
    /// For a reason that none of them can help: it would be the same again.
    All(StoreError),
    /// One of them may be the reason.
    Some(StoreError),
}

impl Desk {
    fn work(mut self, waiting: &Receiver<Message>) {
        let mut open = true;
        while open {
            let jobs;
            (jobs, open) = self.next(waiting);
            self.together(jobs);
            if self.watch.look(&self.connection) {
                // Nobody may be listening.
                let _ = self.changes.send(Change::Anything);
            }
        }
    }

    /// Waits for a job, or until it is time to look at the file; takes the jobs that wait behind it too, and says whether
    /// more may come.
    fn next(&mut self, waiting: &Receiver<Message>) -> (Vec<Box<dyn Job>>, bool) {
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
        for message in std::iter::once(first).chain(waiting.try_iter()).take(JOBS_TOGETHER) {
            match message {
                Message::Job(job) => jobs.push(job),
                Message::Watch => self.watch.begin(),
                Message::Close => return (jobs, false),
            }
        }
        (jobs, true)
    }

    /// Runs jobs in one transaction if that is possible, and tells each what became of it.
    fn together(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let durable = match self.attempt(&mut jobs) {
            Ok(()) => Ok(()),
            Err(Failed::Some(_)) if jobs.len() > 1 => return self.one_by_one(jobs),
            Err(Failed::All(error) | Failed::Some(error)) => Err(error),
        };
        jobs.into_iter().for_each(|job| job.tell(durable.clone()));
    }

    /// Gives each job a transaction of its own: a small one may have room where a large one had none.
    fn one_by_one(&mut self, jobs: Vec<Box<dyn Job>>) {
        let mut hopeless = Ok(());
        for mut job in jobs {
            let durable = hopeless.clone().and_then(|()| {
                self.attempt(std::slice::from_mut(&mut job)).map_err(|failed| match failed {
                    Failed::Some(error) => error,
                    Failed::All(error) => {
                        hopeless = Err(error.clone());
                        error
                    }
                })
            });
            job.tell(durable);
        }
    }

    /// Runs jobs in one transaction. Afterwards all of them are durable or none.
    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Failed> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.batch("BEGIN IMMEDIATE").map_err(Failed::All)?;
        let mut announced = Vec::new();
        let done = jobs
            .iter_mut()
            .try_for_each(|job| self.one(job.as_mut(), &mut announced))
            .and_then(|()| self.batch("COMMIT"));
        if let Err(error) = done {
            if !self.connection.is_autocommit() {
                // What can't be rolled back now is rolled back when the file is next opened: it was never committed.
                let _ = self.batch("ROLLBACK");
            }
            return Err(Failed::Some(error));
        }
        self.place.still_holds(&self.file).map_err(Failed::All)?;
        for change in announced {
            let _ = self.changes.send(change);
        }
        Ok(())
    }

    /// Runs a job in a savepoint. Fails if the transaction around it no longer stands: a full disk can end it.
    fn one(&mut self, job: &mut dyn Job, announced: &mut Vec<Change>) -> Result<(), StoreError> {
        self.batch("SAVEPOINT job")?;
        let mut session = Session::new(&mut self.connection, &self.place);
        let done = job.run(&mut session);
        if done.is_ok() {
            announced.append(&mut session.announced);
        }
        if self.connection.is_autocommit() {
            return done.and_then(|()| Err(self.place.ended()));
        }
        self.batch(if done.is_ok() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" })
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| self.place.error(&error))
    }
}
