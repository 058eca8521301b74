//! Runs an operation until its outcome is certain. Retries after a deadlock and a lost connection, because nothing
//! was written. If the response to a commit is missing, asks `commit_outcome` first.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use foreword_core::backoff::Backoff;
use tokio::time::{Instant, sleep};

use super::commit_outcome::{self, CommitOutcome};
use super::failure::Failure;
use super::pool::{ConnectionPool, Identity};
use super::session::{CommitFailure, Mark, Session};
use crate::engine::job::Job;
use crate::engine::{Access, Transaction};
use crate::error::StoreError;

/// How often an operation that conflicts with others is tried.
const MAX_ATTEMPTS: u32 = 12;
const CONFLICT_BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(10), max: Duration::from_millis(250) };
const LOSS_BACKOFF: Backoff = Backoff { first: Duration::from_millis(50), max: Duration::from_secs(1) };

/// Runs an operation. A write is durable when this returns.
pub(super) async fn run(connections: &ConnectionPool, job: &mut dyn Job) -> Result<(), StoreError> {
    let mut retry = RetryState::new(connections.address().recovery());
    loop {
        let begun = Instant::now().into_std();
        let (reason, left) = match attempt(connections, job, retry.deadline).await {
            Attempt::Ended(result) => return result,
            Attempt::Conflict(error) => match retry.after_conflict().await {
                true => continue,
                false => return Err(error),
            },
            Attempt::Lost(reason, left) => (reason, left),
            Attempt::InDoubt(reason, mark) => {
                connections.forget_older(begun);
                match commit_outcome::resolve(connections, &mark, &mut retry).await {
                    CommitOutcome::Kept => return Ok(()),
                    CommitOutcome::Undone => continue,
                    CommitOutcome::Unknown => {
                        return Err(StoreError::Uncertain { place: connections.place().to_string(), reason });
                    }
                }
            }
        };
        connections.forget_older(begun);
        if !retry.after_loss().await {
            return Err(StoreError::Disconnected { place: connections.place().to_string(), reason });
        }
        if let Some(left) = left {
            // Best effort: if the old process still holds a lock, the next attempt waits for it.
            let _ = commit_outcome::end(connections, &left, retry.deadline).await;
        }
    }
}

/// The outcome of an attempt.
enum Attempt {
    /// Succeeded, or failed for good.
    Ended(Result<(), StoreError>),
    /// Rolled back because of a conflict.
    Conflict(StoreError),
    /// Rolled back. The server process may not have noticed the lost connection yet.
    Lost(String, Option<Identity>),
    /// Unknown: the commit may have succeeded.
    InDoubt(String, Mark),
}

impl From<Failure> for Attempt {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflict(error) => Self::Conflict(error),
            Failure::Lost(reason) | Failure::Absent(reason) => Self::Lost(reason, None),
            Failure::Final(error) => Self::Ended(Err(error)),
        }
    }
}

async fn attempt(connections: &ConnectionPool, job: &mut dyn Job, deadline: Option<Instant>) -> Attempt {
    let access = job.access();
    let mut session = match Session::begin(connections, access, deadline).await {
        Ok(session) => session,
        Err(failure) => return failure.into(),
    };
    let result = job.run(&mut Transaction::Postgres(&mut session)).await;
    // The operation may have ignored an error, but the server rolls back anyway.
    match (session.failure(), result) {
        (Some(Failure::Lost(reason) | Failure::Absent(reason)), _) => match access {
            Access::Write => Attempt::Lost(reason, Some(session.identity())),
            Access::Read => Attempt::Lost(reason, None),
        },
        (Some(Failure::Conflict(error)), _) => {
            session.roll_back().await;
            Attempt::Conflict(error)
        }
        (Some(Failure::Final(error)), Ok(())) | (_, Err(error)) => {
            session.roll_back().await;
            Attempt::Ended(Err(error))
        }
        (None, Ok(())) => end(session, access).await,
    }
}

async fn end(session: Session, access: Access) -> Attempt {
    if access == Access::Read {
        session.end_read().await;
        return Attempt::Ended(Ok(()));
    }
    match session.commit().await {
        Ok(()) => Attempt::Ended(Ok(())),
        Err(CommitFailure::Failed(failure)) => failure.into(),
        Err(CommitFailure::InDoubt(reason, mark)) => Attempt::InDoubt(reason, mark),
    }
}

/// How often and how long to retry.
#[derive(Debug)]
pub(super) struct RetryState {
    /// How long to retry after a lost connection.
    recovery: Duration,
    conflicts: u32,
    losses: u32,
    /// Set at the first lost connection.
    pub(super) deadline: Option<Instant>,
}

impl RetryState {
    fn new(recovery: Duration) -> Self {
        Self { recovery, conflicts: 0, losses: 0, deadline: None }
    }

    /// Waits for the backoff. Returns `false` if there were too many attempts.
    async fn after_conflict(&mut self) -> bool {
        self.conflicts += 1;
        sleep(jittered(CONFLICT_BACKOFF, self.conflicts)).await;
        self.conflicts < MAX_ATTEMPTS
    }

    /// Waits for the backoff. Returns `false` after the deadline. The first retry is immediate, because the other
    /// pooled connections are probably lost too and are replaced.
    pub(super) async fn after_loss(&mut self) -> bool {
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + self.recovery);
        sleep(jittered(LOSS_BACKOFF, self.losses)).await;
        self.losses += 1;
        Instant::now() < deadline
    }
}

fn jittered(backoff: Backoff, failures: u32) -> Duration {
    backoff.jittered_delay(failures, RandomState::new().hash_one(failures) as f64 / u64::MAX as f64)
}
