//! What became of a write whose connection was lost while it was committed. Each write leaves a mark: the name of its
//! connection and how many writes it has made. Once the server's end of the connection is gone nothing more can come of
//! it, and the mark says whether the write was kept. The number of the transaction would not do: a server that crashed
//! gives the same number again, to somebody else.

use tokio::time::{Instant, timeout};

use super::failure::Failure;
use super::pool::{Connections, Identity};
use super::run::Patience;
use super::session::{Mark, Session};
use crate::engine::{Access, Sql, values};
use crate::error::StoreError;

/// The table of marks. Only this engine knows it.
pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS write_marks (
    connection TEXT PRIMARY KEY, number BIGINT NOT NULL, at TIMESTAMPTZ NOT NULL)";

/// Forgets connections that have not written for so long that nobody can ask any more.
pub(super) const SWEEP: &str = "DELETE FROM write_marks WHERE at < now() - INTERVAL '1 day'";

const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE pid = ?1 AND CAST(EXTRACT(EPOCH FROM backend_start) AS TEXT) = ?2";

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is durable.
    Kept,
    /// Nothing of it is left.
    Undone,
    /// The server could not be asked.
    Unknown,
}

/// Asks the server what became of a write, for as long as there is patience.
pub(super) async fn settle(connections: &Connections, mark: &Mark, patience: &mut Patience) -> Verdict {
    while patience.after_loss().await {
        match ask(connections, mark, patience.deadline).await {
            Ok(Some(verdict)) => return verdict,
            // Its process is on its way out, or the server can't be reached just now.
            Ok(None) | Err(Failure::Lost(_) | Failure::Absent(_) | Failure::Conflict(_)) => {}
            Err(Failure::Final(_)) => return Verdict::Unknown,
        }
    }
    Verdict::Unknown
}

/// The verdict, if the server's end of the connection is gone.
async fn ask(
    connections: &Connections,
    mark: &Mark,
    deadline: Option<Instant>,
) -> Result<Option<Verdict>, Failure> {
    if end(connections, &mark.identity, deadline).await? {
        return Ok(None);
    }
    let select = "SELECT number FROM write_marks WHERE connection = ?1 AND number >= ?2";
    let found = query(connections, select, values![mark.identity.to_string(), mark.number], deadline).await?;
    Ok(Some(if found { Verdict::Kept } else { Verdict::Undone }))
}

/// Ends the server's end of a lost connection, which may hold locks and not know yet that nobody is there any more. Says
/// whether there still was one.
pub(super) async fn end(
    connections: &Connections,
    identity: &Identity,
    deadline: Option<Instant>,
) -> Result<bool, Failure> {
    query(connections, END, values![identity.pid, &identity.since], deadline).await
}

/// Whether a statement gives a row.
async fn query(
    connections: &Connections,
    sql: &'static str,
    values: &[crate::engine::Value],
    deadline: Option<Instant>,
) -> Result<bool, Failure> {
    let mut connection = connections.get(deadline).await?;
    let mut session = Session::new(&mut connection, connections, Access::Read);
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
