//! Runs an operation's future to completion. Operations are async for Postgres; on SQLite they never suspend, so one
//! poll is enough.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::file::DatabaseFile;
use crate::error::StoreError;

/// Polls a future that must be ready at once. Converts a panic into an error, because the thread serves other
/// operations too.
pub(crate) fn poll_once<T>(
    place: &DatabaseFile,
    future: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let mut context = Context::from_waker(Waker::noop());
    let future = pin!(future);
    let refused = |reason: &str| Err(StoreError::Engine { place: place.name(), reason: reason.into() });
    // The transaction's rollback undoes partial writes, and the future is not polled again.
    match catch_unwind(AssertUnwindSafe(|| future.poll(&mut context))) {
        Ok(Poll::Ready(result)) => result,
        Ok(Poll::Pending) => refused("an operation was not ready at once"),
        Err(_) => refused("an operation panicked; nothing was written"),
    }
}
