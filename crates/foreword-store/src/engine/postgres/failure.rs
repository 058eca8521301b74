//! Classifies Postgres errors: retry, reconnect, or fail. Keeps only the message of a server error: its detail may
//! quote stored data.

use std::error::Error as _;
use std::io;

use deadpool::managed::{PoolError, TimeoutType};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::error::StoreError;

/// An error by its remedy.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// A conflict with another transaction. It was rolled back and can be retried.
    Conflict(StoreError),
    /// The connection is unusable, or the server temporarily accepts none.
    Lost(String),
    /// The server is unreachable.
    Absent(String),
    /// A retry would fail again.
    Final(StoreError),
}

impl Failure {
    /// Classifies an error in a transaction.
    pub(super) fn of(error: &Error, place: &str) -> Self {
        match error.as_db_error() {
            Some(refusal) => Self::of_refusal(refusal, place),
            None if is_lost(error) => Self::Lost(with_source(error)),
            None => Self::Final(engine(place, with_source(error))),
        }
    }

    fn of_refusal(refusal: &DbError, place: &str) -> Self {
        let place = place.to_owned();
        let reason = refusal.message().to_owned();
        let code = refusal.code();
        match code {
            // The referenced row existed when the operation read it, so another transaction has deleted it since.
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::FOREIGN_KEY_VIOLATION => Self::Conflict(engine(&place, reason)),
            &SqlState::DISK_FULL => Self::Final(StoreError::Full { place }),
            &SqlState::READ_ONLY_SQL_TRANSACTION => Self::Final(StoreError::ReadOnly { place, reason }),
            &SqlState::INSUFFICIENT_PRIVILEGE => Self::Final(StoreError::ReadOnly { place, reason }),
            // Only migrations create tables.
            &SqlState::DUPLICATE_TABLE => Self::Final(StoreError::Foreign { place, reason }),
            &SqlState::LOCK_NOT_AVAILABLE => Self::Final(StoreError::Locked { place }),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => {
                Self::Final(StoreError::Corrupt { place, reason })
            }
            code if loses_connection(code) || is_stale_statement(code, &reason) => Self::Lost(reason),
            _ => Self::Final(engine(&place, reason)),
        }
    }

    /// Classifies an error while connecting.
    pub(super) fn of_connecting(error: &PoolError<Error>, place: &str) -> Self {
        let unreachable =
            |reason: String| Self::Final(StoreError::Unreachable { place: place.to_owned(), reason });
        match error {
            PoolError::Timeout(TimeoutType::Wait) => unreachable(
                "all connections were in use for too long; raise `pool_size` in the address".to_owned(),
            ),
            PoolError::Timeout(_) => Self::Absent("the server does not answer".to_owned()),
            PoolError::Backend(error) => match error.as_db_error() {
                Some(refusal) => match refusal.code() {
                    code if loses_connection(code) => Self::Lost(refusal.message().to_owned()),
                    // A standby server, which does not support LISTEN.
                    &SqlState::READ_ONLY_SQL_TRANSACTION => {
                        let reason = refusal.message().to_owned();
                        Self::Final(StoreError::ReadOnly { place: place.to_owned(), reason })
                    }
                    &SqlState::INVALID_CATALOG_NAME => {
                        unreachable(format!("{}; make it with `createdb`", refusal.message()))
                    }
                    _ => unreachable(refusal.message().to_owned()),
                },
                None if is_lost(error) => Self::Absent(with_source(error)),
                None => unreachable(with_source(error)),
            },
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                unreachable("the store is closed".to_owned())
            }
        }
    }
}

/// An engine error with the server's message only.
pub(super) fn engine(place: &str, reason: String) -> StoreError {
    StoreError::Engine { place: place.to_owned(), reason: reason.into() }
}

/// The driver's error with its source.
fn with_source(error: &Error) -> String {
    let Some(source) = error.source() else { return error.to_string() };
    let is_refused = |io: &io::Error| io.kind() == io::ErrorKind::InvalidData;
    if source.downcast_ref::<io::Error>().is_some_and(is_refused) {
        // The library's text about certificates is meant for its developers.
        return format!(
            "the server's certificate is refused ({source}); trust it with `sslrootcert` in the address"
        );
    }
    format!("{error}: {source}")
}

fn is_lost(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    // Invalid input was never sent, and invalid data is an untrusted certificate.
    let invalid = [io::ErrorKind::InvalidInput, io::ErrorKind::InvalidData];
    error.is_closed() || source.is_some_and(|source| !invalid.contains(&source.kind()))
}

/// The server is starting, shutting down or full, or has closed the connection.
fn loses_connection(code: &SqlState) -> bool {
    [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::TOO_MANY_CONNECTIONS,
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ]
    .contains(&code)
        || code.code().starts_with("08")
        // Closed for idleness; `SqlState` has no constant for it.
        || code.code() == "57P05"
}

/// A prepared statement is outdated: another node has migrated the tables, or the statement was deallocated.
fn is_stale_statement(code: &SqlState, reason: &str) -> bool {
    code == &SqlState::INVALID_SQL_STATEMENT_NAME
        || (code == &SqlState::FEATURE_NOT_SUPPORTED && reason.contains("cached plan"))
}
