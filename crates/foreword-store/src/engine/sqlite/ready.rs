//! Operations are written as futures because Postgres needs them so. On SQLite they never wait, so asking once is enough.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::error::StoreError;

/// The result of a future that is ready when it is first asked.
pub(super) fn finish<T>(future: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => {
            Err(StoreError::Engine { place: "sqlite".to_owned(), reason: "an operation waited".into() })
        }
    }
}
