//! The interface of both engines: run an [`Operation`] in one transaction. SQL is written once, in the common subset
//! of both dialects, with the placeholders `?1`, `?2`… Differences (locks, clocks, notifications) are methods of
//! [`Sql`].

pub(crate) mod migrations;
pub(crate) mod postgres;
mod row;
pub(crate) mod sqlite;
pub(crate) mod value;

use std::future::Future;

use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;

use crate::changes::StoreChange;
use crate::error::StoreError;

pub(crate) use row::{FromValue, Row};
pub(crate) use value::Value;

/// The access mode of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read-only, on one snapshot.
    Read,
    /// Read-write. The commit is durable before the caller gets the result.
    Write,
}

/// The work of one transaction. The engine may run it again after a deadlock or a lost connection, so it owns its
/// inputs and keeps no state between attempts.
pub(crate) trait Operation: Send + Sync + 'static {
    /// The result.
    type Output: Send + 'static;
    /// The access mode.
    const ACCESS: Access;

    /// Runs the statements.
    fn run<S: Sql>(&self, sql: &mut S) -> impl Future<Output = Result<Self::Output, StoreError>> + Send;
}

/// An open transaction. Placeholders are `?1`, `?2` … for both engines.
pub(crate) trait Sql: Send {
    /// Runs a statement without result rows. Returns the number of affected rows.
    fn execute(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Runs a statement and returns its rows.
    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send;

    /// Inserts many rows; `insert` is the statement without `VALUES`.
    fn insert_many(
        &mut self,
        insert: &'static str,
        rows: &[Vec<Value>],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Takes the lock `name` until the end of the transaction; waits if another transaction holds it. Take at most
    /// one, and before the first read that depends on it.
    fn lock(&mut self, name: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The clock for leases: the database's if several machines share it, else the caller's.
    fn clock(&mut self, caller: Timestamp) -> impl Future<Output = Result<Timestamp, StoreError>> + Send;

    /// Whether the process of `node` is known to have crashed. Only possible if all processes are on one machine;
    /// otherwise its lease must expire.
    fn is_dead(&mut self, _node: &NodeId) -> bool {
        false
    }

    /// Notifies the subscribers on every node after the commit.
    fn announce(&mut self, change: StoreChange) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Raises the statement timeout for the rest of the transaction, for work on whole tables.
    fn allow_long_statements(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The first row, if any.
    fn query_optional(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<Option<Row>, StoreError>> + Send {
        async move { Ok(self.query(sql, values).await?.into_iter().next()) }
    }
}

/// The parameter values of a statement, in order.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::engine::Value::from($value)),*] };
}
pub(crate) use values;
