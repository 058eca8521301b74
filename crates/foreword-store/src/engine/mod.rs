//! The interface of both engines: run an [`Operation`] in one transaction. SQL is written once, in the common subset
//! of both dialects, with the placeholders `?1`, `?2`… Differences (locks, clocks, notifications) are methods of
//! [`Transaction`].

pub(crate) mod job;
pub(crate) mod migrations;
pub(crate) mod postgres;
mod row;
pub(crate) mod sqlite;
mod transaction;
pub(crate) mod value;

use std::future::Future;

use crate::error::StoreError;

pub(crate) use row::{FromValue, Row};
pub(crate) use transaction::Transaction;
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
    fn run(&self, sql: &mut Transaction<'_>)
    -> impl Future<Output = Result<Self::Output, StoreError>> + Send;
}

/// The parameter values of a statement, in order.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::engine::Value::from($value)),*] };
}
pub(crate) use values;
