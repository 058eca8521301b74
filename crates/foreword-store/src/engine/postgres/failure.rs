//! What an error of Postgres means: try again, connect again, or tell the caller. Of what the server says only the
//! message is kept: its details may quote what somebody wrote.

use std::error::Error as _;
use std::io;

use deadpool::managed::{PoolError, TimeoutType};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::error::StoreError;

/// Why something did not work, by what can be done about it.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// Somebody else was in the way; the transaction is undone, and may work the next time.
    Conflict(StoreError),
    /// The connection is of no use any more, or the server does not take one just now.
    Lost(String),
    /// No server is there.
    Absent(String),
    /// It would fail again.
    Final(StoreError),
}

impl Failure {
    /// What an error in the middle of a transaction means.
    pub(super) fn of(error: &Error, place: &str) -> Self {
        match error.as_db_error() {
            Some(refusal) => Self::of_refusal(refusal, place),
            None if is_lost(error) => Self::Lost(told(error)),
            None => Self::Final(engine(place, told(error))),
        }
    }

    fn of_refusal(refusal: &DbError, place: &str) -> Self {
        let place = place.to_owned();
        let reason = refusal.message().to_owned();
        let code = refusal.code();
        match code {
            // What a row refers to was there when it was looked up: somebody has deleted it in between.
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::FOREIGN_KEY_VIOLATION => Self::Conflict(engine(&place, reason)),
            &SqlState::DISK_FULL => Self::Final(StoreError::Full { place }),
            &SqlState::READ_ONLY_SQL_TRANSACTION => Self::Final(StoreError::ReadOnly { place, reason }),
            &SqlState::INSUFFICIENT_PRIVILEGE => Self::Final(StoreError::ReadOnly { place, reason }),
            // Only migrations make tables.
            &SqlState::DUPLICATE_TABLE => Self::Final(StoreError::Foreign { place, reason }),
            &SqlState::LOCK_NOT_AVAILABLE => Self::Final(StoreError::Locked { place }),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => {
                Self::Final(StoreError::Corrupt { place, reason })
            }
            code if loses_connection(code) || is_stale_statement(code, &reason) => Self::Lost(reason),
            _ => Self::Final(engine(&place, reason)),
        }
    }

    /// What an error on the way to a connection means.
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
                    // A standby, which does not even listen.
                    &SqlState::READ_ONLY_SQL_TRANSACTION => {
                        let reason = refusal.message().to_owned();
                        Self::Final(StoreError::ReadOnly { place: place.to_owned(), reason })
                    }
                    &SqlState::INVALID_CATALOG_NAME => {
                        unreachable(format!("{}; make it with `createdb`", refusal.message()))
                    }
                    _ => unreachable(refusal.message().to_owned()),
                },
                None if is_lost(error) => Self::Absent(told(error)),
                None => unreachable(told(error)),
            },
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                unreachable("the store is closed".to_owned())
            }
        }
    }
}

/// An error that says no more than what the server said.
pub(super) fn engine(place: &str, reason: String) -> StoreError {
    StoreError::Engine { place: place.to_owned(), reason: reason.into() }
}

/// An error of the driver with what is behind it.
fn told(error: &Error) -> String {
    let Some(source) = error.source() else { return error.to_string() };
    let is_refused = |io: &io::Error| io.kind() == io::ErrorKind::InvalidData;
    if source.downcast_ref::<io::Error>().is_some_and(is_refused) {
        // What the library says of a certificate is for its own developers.
        return format!(
            "the server's certificate is refused ({source}); trust it with `sslrootcert` in the address"
        );
    }
    format!("{error}: {source}")
}

fn is_lost(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    // Invalid input was never sent, and invalid data is a certificate that is not trusted.
    let invalid = [io::ErrorKind::InvalidInput, io::ErrorKind::InvalidData];
    error.is_closed() || source.is_some_and(|source| !invalid.contains(&source.kind()))
}

/// The server goes, comes, is full, or has thrown us out.
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
        // Cut off because it was idle, which SqlState has no name for.
        || code.code() == "57P05"
}

/// A statement kept ready no longer fits: another node has changed the tables, or somebody threw it away.
fn is_stale_statement(code: &SqlState, reason: &str) -> bool {
    code == &SqlState::INVALID_SQL_STATEMENT_NAME
        || (code == &SqlState::FEATURE_NOT_SUPPORTED && reason.contains("cached plan"))
}
