//! The one thread that writes. Jobs that are waiting when it begins share a transaction and become durable together;
//! each has a savepoint of its own, so that one that fails takes nothing else with it. Nobody is told before the commit.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;

use rusqlite::Connection;
use tokio::sync::broadcast;

use super::connection::Place;
use super::session::Session;
use super::watch::Watch;
use crate::changes::Change;
use crate::error::StoreError;

/// How many jobs share a transaction at most: those behind them should not wait for too long.
const JOBS_TOGETHER: usize = 64;

/// Work for the writing thread: with a transaction, or with the reason why there is none.
pub(super) type Job = Box<dyn FnOnce(Result<&mut Session<'_>, StoreError>) -> Outcome + Send>;

/// What the writing thread is asked to do.
enum Order {
    Write(Job),
    /// See what other processes write.
    Watch,
}

/// What became of a job.
pub(super) struct Outcome {
    /// Whether what it wrote is kept.
    pub(super) keep: bool,
    /// Tells whoever asked, once it is known whether it is durable.
    pub(super) tell: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

/// The way to the writing thread. The thread ends when nobody can reach it any more.
#[derive(Debug)]
pub(super) struct Writer {
    orders: Sender<Order>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        place: Arc<Place>,
        changes: broadcast::Sender<Change>,
    ) -> Result<Self, StoreError> {
        let (orders, waiting) = mpsc::channel();
        let work = {
            let place = Arc::clone(&place);
            let watch = Watch::new(&connection);
            move || Desk { connection, place, changes, watch }.work(&waiting)
        };
        thread::Builder::new().name("foreword-writer".to_owned()).spawn(work).map_err(|error| {
            StoreError::Unreachable { place: place.name(), reason: format!("no thread: {error}") }
        })?;
        Ok(Self { orders })
    }

    /// Hands a job over. If the thread is gone, the job is dropped, and whoever asked finds the channel closed.
    pub(super) fn submit(&self, job: Job) {
        let _ = self.orders.send(Order::Write(job));
    }

    /// Tells listeners from now on what other processes write.
    pub(super) fn watch(&self) {
        let _ = self.orders.send(Order::Watch);
    }
}

struct Desk {
    connection: Connection,
    place: Arc<Place>,
    changes: broadcast::Sender<Change>,
    watch: Watch,
}

impl Desk {
    fn work(mut self, waiting: &Receiver<Order>) {
        while let Some(first) = self.next(waiting) {
            let orders = first.into_iter().chain(waiting.try_iter()).take(JOBS_TOGETHER);
            let jobs: Vec<Job> = orders.filter_map(|order| self.sort(order)).collect();
            if !jobs.is_empty() {
                self.together(jobs.into_iter());
            }
            if self.watch.look(&self.connection) {
                // Nobody may be listening.
                let _ = self.changes.send(Change::Anything);
            }
        }
    }

    /// Waits for the next order, or until it is time to look at the file. `None` if nobody can order any more.
    fn next(&self, waiting: &Receiver<Order>) -> Option<Option<Order>> {
        match self.watch.pause() {
            None => waiting.recv().ok().map(Some),
            Some(pause) => match waiting.recv_timeout(pause) {
                Ok(order) => Some(Some(order)),
                Err(RecvTimeoutError::Timeout) => Some(None),
                Err(RecvTimeoutError::Disconnected) => None,
            },
        }
    }

    fn sort(&mut self, order: Order) -> Option<Job> {
        match order {
            Order::Write(job) => Some(job),
            Order::Watch => {
                self.watch.begin();
                None
            }
        }
    }

    /// Runs jobs in one transaction, and tells each what became of it.
    fn together(&mut self, jobs: impl Iterator<Item = Job>) {
        let begun = self.batch("BEGIN IMMEDIATE");
        let mut outcomes: Vec<Outcome> = Vec::new();
        let mut announced = Vec::new();
        let mut durable = begun;
        for job in jobs {
            if let Err(error) = &durable {
                outcomes.push(job(Err(error.clone())));
                continue;
            }
            let (outcome, changes, end) = self.one(job);
            outcomes.push(outcome);
            announced.extend(changes);
            durable = end;
        }
        let durable = durable.and_then(|()| self.batch("COMMIT"));
        if durable.is_err() && !self.connection.is_autocommit() {
            // What can't be rolled back now is rolled back when the file is next opened: it was never committed.
            let _ = self.batch("ROLLBACK");
        }
        if durable.is_ok() {
            announced.into_iter().for_each(|change| {
                let _ = self.changes.send(change);
            });
        }
        for outcome in outcomes {
            (outcome.tell)(durable.clone());
        }
    }

    /// Runs a job in a savepoint. The last result is whether the transaction around it still stands: a full disk can
    /// end it.
    fn one(&mut self, job: Job) -> (Outcome, Vec<Change>, Result<(), StoreError>) {
        let begun = self.batch("SAVEPOINT job");
        let mut session = Session::new(&mut self.connection, &self.place);
        let outcome = job(Ok(&mut session));
        let changes = if outcome.keep { session.announced } else { Vec::new() };
        if self.connection.is_autocommit() {
            return (outcome, changes, Err(StoreError::Full { place: self.place.name() }));
        }
        let end = if outcome.keep { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
        let ended = begun.and_then(|()| self.batch(end));
        (outcome, changes, ended)
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| self.place.error(&error))
    }
}
