//! What both engines can do: run an [`Operation`] in one transaction. The SQL is written once, in the words both
//! understand, with `?1` for the first value; what they don't share (locks, clocks, announcements) has a method each.

pub(crate) mod postgres;
mod row;
pub(crate) mod sqlite;
pub(crate) mod value;

use std::future::Future;

use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;

use crate::changes::Change;
use crate::error::StoreError;

pub(crate) use row::{FromValue, Row};
pub(crate) use value::Value;

/// Whether an operation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Looks only; sees one moment of the database.
    Read,
    /// Writes; all of it or nothing, and durable before the caller is told.
    Write,
}

/// Something done in one transaction. It can be run again when the engine asks for that (a deadlock, a lost connection),
/// so it holds what it needs and keeps nothing from an earlier attempt.
pub(crate) trait Operation: Send + Sync + 'static {
    /// What it gives.
    type Output: Send + 'static;
    /// Whether it writes.
    const ACCESS: Access;

    /// Does it.
    fn run<S: Sql>(&self, sql: &mut S) -> impl Future<Output = Result<Self::Output, StoreError>> + Send;
}

/// A transaction that is under way. Values are numbered `?1`, `?2` … in the SQL of both engines.
pub(crate) trait Sql: Send {
    /// Runs a statement that gives no rows, and says how many it touched.
    fn execute(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Runs a statement that gives rows.
    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send;

    /// Inserts many rows at once; `insert` is the statement up to and without `VALUES`.
    fn insert_many(
        &mut self,
        insert: &'static str,
        rows: &[Vec<Value>],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Waits until nobody else holds `name`, and holds it until the end of the transaction. Take at most one, and
    /// before the first read that depends on it.
    fn lock(&mut self, name: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The clock that leases go by: the database's own where several machines share it, else the caller's.
    fn clock(&mut self, caller: Timestamp) -> impl Future<Output = Result<Timestamp, StoreError>> + Send;

    /// Whether the process that called itself `node` is known to have ended without a word. Only where all processes are on
    /// one machine; elsewhere its lease has to run out.
    fn is_dead(&mut self, _node: &NodeId) -> bool {
        false
    }

    /// Tells whoever listens, on every node, once the transaction is durable.
    fn announce(&mut self, change: Change) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Lets what follows in this transaction take longer than anything on a caller's way may: work over everything there
    /// is.
    fn unhurried(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The first row, if there is one.
    fn query_optional(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> impl Future<Output = Result<Option<Row>, StoreError>> + Send {
        async move { Ok(self.query(sql, values).await?.into_iter().next()) }
    }
}

/// The values of a statement, in order.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::engine::Value::from($value)),*] };
}
pub(crate) use values;
