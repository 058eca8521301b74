//! Runs an operation until it is certain what became of it. A deadlock and a lost connection lead to another attempt,
//! because nothing was written; an answer to a commit that never came leads to `settle` first, because something may
//! have been.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::failure::Failure;
use super::pool::{Connections, Identity};
use super::session::{Mark, Session, Unended};
use super::settle::{self, Verdict};
use crate::engine::{Access, Operation};
use crate::error::StoreError;

/// How often an operation is tried that others are in the way of.
const ATTEMPTS: u32 = 12;
/// Runs an operation. A write is durable when this returns.
pub(super) async fn run<O: Operation>(
    connections: &Connections,
    operation: &O,
) -> Result<O::Output, StoreError> {
    let mut patience = Patience::new(connections.address().recovery());
    loop {
        let begun = Instant::now().into_std();
        let (reason, left) = match attempt(connections, operation, patience.deadline).await {
            Attempt::Ended(result) => return result,
            Attempt::Conflict(error) => match patience.after_conflict().await {
                true => continue,
                false => return Err(error),
            },
            Attempt::Lost(reason, left) => (reason, left),
            Attempt::InDoubt(reason, mark, output) => {
                connections.forget_older(begun);
                match settle::settle(connections, &mark, &mut patience).await {
                    Verdict::Kept => return Ok(output),
                    Verdict::Undone => continue,
                    Verdict::Unknown => {
                        return Err(StoreError::Uncertain { place: connections.place().to_owned(), reason });
                    }
                }
            }
        };
        connections.forget_older(begun);
        if !patience.after_loss().await {
            return Err(StoreError::Disconnected { place: connections.place().to_owned(), reason });
        }
        if let Some(left) = left {
            // Whatever comes of it: if it still holds a lock, the next attempt waits for that.
            let _ = settle::end(connections, &left, patience.deadline).await;
        }
    }
}

/// What became of an attempt.
enum Attempt<T> {
    /// It is done, or refused for good.
    Ended(Result<T, StoreError>),
    /// Nothing was written, because others were in the way.
    Conflict(StoreError),
    /// Nothing was written. The server may not know yet that the connection is gone.
    Lost(String, Option<Identity>),
    /// It may have been written.
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
    connections: &Connections,
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
    // An operation may have kept an error to itself; the server has not, and undoes everything.
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
        Err(Unended::Failed(failure)) => failure.into(),
        Err(Unended::InDoubt(reason, mark)) => Attempt::InDoubt(reason, mark, output),
    }
}

/// How much longer to try.
#[derive(Debug)]
pub(super) struct Patience {
    /// How long to try to get a connection again.
    recovery: Duration,
    conflicts: u32,
    losses: u32,
    /// From the first loss on.
    pub(super) deadline: Option<Instant>,
}

impl Patience {
    fn new(recovery: Duration) -> Self {
        Self { recovery, conflicts: 0, losses: 0, deadline: None }
    }

    /// Waits a little, or says that it has been tried often enough.
    async fn after_conflict(&mut self) -> bool {
        self.conflicts += 1;
        sleep(pause(Duration::from_millis(5), self.conflicts, Duration::from_millis(250))).await;
        self.conflicts < ATTEMPTS
    }

    /// Waits a little, or says that it has been tried for long enough. The first time it does not wait: of a pool, the
    /// other connections are dead as well and are made anew.
    pub(super) async fn after_loss(&mut self) -> bool {
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + self.recovery);
        if self.losses > 0 {
            sleep(pause(Duration::from_millis(25), self.losses, Duration::from_secs(1))).await;
        }
        self.losses += 1;
        Instant::now() < deadline
    }
}

/// Twice as long each time, and never the same for two that wait for each other.
fn pause(first: Duration, times: u32, longest: Duration) -> Duration {
    let pause = first.saturating_mul(1 << times.min(10)).min(longest);
    let micros = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
    let part = RandomState::new().hash_one(times) % (micros / 2).max(1);
    pause.saturating_sub(Duration::from_micros(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_are_never_nothing() {
        let (first, longest) = (Duration::from_millis(5), Duration::from_millis(250));
        for times in 1..40 {
            let pause = pause(first, times, longest);
            assert!(pause <= longest && pause >= Duration::from_millis(5), "{times}: {pause:?}");
        }
        assert!(super::pause(first, 30, longest) >= longest / 2);
    }
}
