//! Runs blocking work on its own thread. Needs no tokio runtime, so a SQLite store needs none.

use std::thread;

use tokio::sync::oneshot;

use super::file::DatabaseFile;
use crate::error::StoreError;

/// Runs `work` on a thread called `name`. It completes even if the caller is cancelled.
pub(crate) async fn run<T: Send + 'static>(
    name: &str,
    place: &DatabaseFile,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, answered) = oneshot::channel();
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _ = answer.send(work());
    });
    spawned.map_err(|error| place.no_thread(&error))?;
    answered.await.unwrap_or_else(|_| Err(place.stopped()))
}
