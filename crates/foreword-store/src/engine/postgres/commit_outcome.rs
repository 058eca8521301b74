//! Finds out whether a transaction was committed when the connection was lost during `COMMIT`. Each write updates a
//! mark: the connection's name and its write count. Once the server process of the lost connection has exited, the
//! mark shows whether the commit succeeded. A transaction id would not be enough: after a crash the server may assign
//! the same id again.

use tokio::time::{Instant, timeout};

use super::failure::Failure;
use super::pool::{ConnectionPool, Identity};
use super::run::RetryState;
use super::session::{Mark, Session};
use crate::engine::{Access, values};
use crate::error::StoreError;

/// The table of marks, which only exists on Postgres.
pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS write_marks (
    connection TEXT PRIMARY KEY, number BIGINT NOT NULL, at TIMESTAMPTZ NOT NULL)";

/// Deletes marks that are too old to be needed.
pub(super) const SWEEP: &str = "DELETE FROM write_marks WHERE at < now() - INTERVAL '1 day'";

const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE pid = ?1 AND CAST(EXTRACT(EPOCH FROM backend_start) AS TEXT) = ?2";

/// The outcome of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitOutcome {
    /// Committed and durable.
    Kept,
    /// Rolled back.
    Undone,
    /// The server can't be asked.
    Unknown,
}

/// Asks the server for the outcome of a commit, until the retries are exhausted.
pub(super) async fn resolve(
    connections: &ConnectionPool,
    mark: &Mark,
    retry: &mut RetryState,
) -> CommitOutcome {
    while retry.after_loss().await {
        match ask(connections, mark, retry.deadline).await {
            Ok(Some(verdict)) => return verdict,
            // The server process has not exited yet, or the server is unreachable.
            Ok(None) | Err(Failure::Lost(_) | Failure::Absent(_) | Failure::Conflict(_)) => {}
            Err(Failure::Final(_)) => return CommitOutcome::Unknown,
        }
    }
    CommitOutcome::Unknown
}

/// The outcome, if the server process of the lost connection has exited.
async fn ask(
    connections: &ConnectionPool,
    mark: &Mark,
    deadline: Option<Instant>,
) -> Result<Option<CommitOutcome>, Failure> {
    if end(connections, &mark.identity, deadline).await? {
        return Ok(None);
    }
    let select = "SELECT number FROM write_marks WHERE connection = ?1 AND number >= ?2";
    let found = query(connections, select, values![mark.identity.to_string(), mark.number], deadline).await?;
    Ok(Some(if found { CommitOutcome::Kept } else { CommitOutcome::Undone }))
}

/// Terminates the server process of a lost connection, which may still hold locks. Returns whether it was still
/// running.
pub(super) async fn end(
    connections: &ConnectionPool,
    identity: &Identity,
    deadline: Option<Instant>,
) -> Result<bool, Failure> {
    query(connections, END, values![identity.pid, &identity.since], deadline).await
}

/// Whether a query returns a row.
async fn query(
    connections: &ConnectionPool,
    sql: &'static str,
    values: &[crate::engine::Value],
    deadline: Option<Instant>,
) -> Result<bool, Failure> {
    let mut session = Session::begin(connections, Access::Read, deadline).await?;
    let asked = session.query_optional(sql, values);
    let row = match deadline {
        Some(deadline) => timeout(deadline.saturating_duration_since(Instant::now()), asked).await,
        None => Ok(asked.await),
    };
    let refused = |error: StoreError| session.failure().unwrap_or(Failure::Final(error));
    let found = match row {
        Ok(row) => row.map_err(refused)?.is_some(),
        Err(_) => return Err(Failure::Lost("no answer in time".to_owned())),
    };
    session.end_read().await;
    Ok(found)
}
