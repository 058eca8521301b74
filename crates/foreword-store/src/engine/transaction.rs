//! An open transaction of either engine: one type, so that the code of an operation is compiled once. The statements of
//! Postgres are boxed futures, so that an operation's own future stays small; those of SQLite are ready at once.

use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;

use super::{Row, Value, postgres, sqlite};
use crate::changes::StoreChange;
use crate::error::StoreError;

/// An open transaction. Placeholders are `?1`, `?2` … for both engines.
#[derive(Debug)]
pub(crate) enum Transaction<'c> {
    Sqlite(sqlite::session::Session<'c>),
    Postgres(&'c mut postgres::session::Session),
}

impl Transaction<'_> {
    /// Runs a statement without result rows. Returns the number of affected rows.
    pub(crate) async fn execute(&mut self, sql: &'static str, values: &[Value]) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(session) => session.execute(sql, values),
            Self::Postgres(session) => Box::pin(session.execute(sql, values)).await,
        }
    }

    /// Runs a statement and returns its rows.
    pub(crate) async fn query(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Sqlite(session) => session.query(sql, values),
            Self::Postgres(session) => Box::pin(session.query(sql, values)).await,
        }
    }

    /// The first row, if any.
    pub(crate) async fn query_optional(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// Inserts many rows; `insert` is the statement without `VALUES`.
    pub(crate) async fn insert_many(
        &mut self,
        insert: &'static str,
        rows: &[Vec<Value>],
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(session) => session.insert_many(insert, rows),
            Self::Postgres(session) => Box::pin(session.insert_many(insert, rows)).await,
        }
    }

    /// Takes the lock `name` until the end of the transaction; waits if another transaction holds it. Take at most
    /// one, and before the first read that depends on it. SQLite needs none, because it has one writer at a time.
    pub(crate) async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(session) => Box::pin(session.lock(name)).await,
        }
    }

    /// The clock for leases: the database's if several machines share it, else the caller's.
    pub(crate) async fn clock(&mut self, caller: Timestamp) -> Result<Timestamp, StoreError> {
        match self {
            Self::Sqlite(_) => Ok(caller),
            Self::Postgres(session) => Box::pin(session.clock()).await,
        }
    }

    /// Whether the process of `node` is known to have crashed. Only possible if all processes are on one machine;
    /// otherwise its lease must expire.
    pub(crate) fn is_dead(&mut self, node: &NodeId) -> bool {
        match self {
            Self::Sqlite(session) => session.is_dead(node),
            Self::Postgres(_) => false,
        }
    }

    /// Notifies the subscribers on every node after the commit.
    pub(crate) fn announce(&mut self, change: StoreChange) {
        match self {
            Self::Sqlite(session) => session.announced.push(change),
            Self::Postgres(session) => session.announce(change),
        }
    }

    /// Raises the statement timeout for the rest of the transaction, for work on whole tables. SQLite has none.
    pub(crate) async fn allow_long_statements(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(session) => Box::pin(session.allow_long_statements()).await,
        }
    }
}
