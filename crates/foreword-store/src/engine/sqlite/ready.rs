//! Operations are written as futures because Postgres needs them so. On SQLite they never wait, so asking once is enough.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::place::Place;
use crate::error::StoreError;

/// The result of a future that is ready when it is first asked. One that panics is an error like any other: the thread
/// serves others too.
pub(crate) fn finish<T>(
    place: &Place,
    future: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let mut context = Context::from_waker(Waker::noop());
    let future = pin!(future);
    let refused = |reason: &str| Err(StoreError::Engine { place: place.name(), reason: reason.into() });
    // What it may have left half done in the database is undone with its transaction, and it is not asked again.
    match catch_unwind(AssertUnwindSafe(|| future.poll(&mut context))) {
        Ok(Poll::Ready(result)) => result,
        Ok(Poll::Pending) => refused("an operation waited"),
        Err(_) => refused("an operation panicked, and nothing of it was written"),
    }
}
