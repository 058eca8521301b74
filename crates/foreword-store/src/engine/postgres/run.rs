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
use crate::engine::{Access, Operation};
use crate::error::StoreError;

/// How often an operation that conflicts with others is tried.
const MAX_ATTEMPTS: u32 = 12;
const CONFLICT_BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(10), max: Duration::from_millis(250) };
const LOSS_BACKOFF: Backoff = Backoff { first: Duration::from_millis(50), max: Duration::from_secs(1) };

/// Runs an operation. A write is durable when this returns.
pub(super) async fn run<O: Operation>(
    connections: &ConnectionPool,
    operation: &O,
) -> Result<O::Output, StoreError> {
    let mut retry = RetryState::new(connections.address().recovery());
    loop {
        let begun = Instant::now().into_std();
        let (reason, left) = match attempt(connections, operation, retry.deadline).await {
            Attempt::Ended(result) => return result,
            Attempt::Conflict(error) => match retry.after_conflict().await {
                true => continue,
                false => return Err(error),
            },
            Attempt::Lost(reason, left) => (reason, left),
            Attempt::InDoubt(reason, mark, output) => {
                connections.forget_older(begun);
                match commit_outcome::resolve(connections, &mark, &mut retry).await {
                    CommitOutcome::Kept => return Ok(output),
                    CommitOutcome::Undone => continue,
                    CommitOutcome::Unknown => {
                        return Err(StoreError::Uncertain { place: connections.place().to_owned(), reason });
                    }
                }
            }
        };
        connections.forget_older(begun);
        if !retry.after_loss().await {
            return Err(StoreError::Disconnected { place: connections.place().to_owned(), reason });
        }
        if let Some(left) = left {
            // Best effort: if the old process still holds a lock, the next attempt waits for it.
            let _ = commit_outcome::end(connections, &left, retry.deadline).await;
        }
    }
}

/// The outcome of an attempt.
enum Attempt<T> {
    /// Succeeded, or failed for good.
    Ended(Result<T, StoreError>),
    /// Rolled back because of a conflict.
    Conflict(StoreError),
    /// Rolled back. The server process may not have noticed the lost connection yet.
    Lost(String, Option<Identity>),
    /// Unknown: the commit may have succeeded.
    InDoubt(String, Mark, T),
}

impl<T> From<Failure> for Attempt<T> {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflict(error) => Self::Conflict(error),
            Failure::Lost(reason) | Failure::Absent(reason) => Self::Lost(reason, None),
            Failure::Final(error) => Self::Ended(Err(error)),
        }
    }
}

async fn attempt<O: Operation>(
    connections: &ConnectionPool,
    operation: &O,
    deadline: Option<Instant>,
) -> Attempt<O::Output> {
    let mut connection = match connections.get(deadline).await {
        Ok(connection) => connection,
        Err(failure) => return failure.into(),
    };
    let identity = connection.identity.clone();
    let mut session = Session::new(&mut connection, connections, O::ACCESS);
    let result = operation.run(&mut session).await;
    // The operation may have ignored an error, but the server rolls back anyway.
    match (session.failure(), result) {
        (Some(Failure::Lost(reason) | Failure::Absent(reason)), _) => match O::ACCESS {
            Access::Write => Attempt::Lost(reason, Some(identity)),
            Access::Read => Attempt::Lost(reason, None),
        },
        (Some(Failure::Conflict(error)), _) => {
            session.roll_back().await;
            Attempt::Conflict(error)
        }
        (Some(Failure::Final(error)), Ok(_)) | (_, Err(error)) => {
            session.roll_back().await;
            Attempt::Ended(Err(error))
        }
        (None, Ok(output)) => end(session, O::ACCESS, output).await,
    }
}

async fn end<T>(session: Session<'_>, access: Access, output: T) -> Attempt<T> {
    if access == Access::Read {
        session.end_read().await;
        return Attempt::Ended(Ok(output));
    }
    match session.commit().await {
        Ok(()) => Attempt::Ended(Ok(output)),
        Err(CommitFailure::Failed(failure)) => failure.into(),
        Err(CommitFailure::InDoubt(reason, mark)) => Attempt::InDoubt(reason, mark, output),
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
