//! Work that blocks, done on a thread of its own while the caller waits without blocking. Needs no runtime, so that a
//! store on SQLite needs none either.

use std::thread;

use tokio::sync::oneshot;

use super::place::Place;
use crate::error::StoreError;

/// Does `work` on a thread called `name`. It is finished even if nobody waits for it any more.
pub(crate) async fn run<T: Send + 'static>(
    name: &str,
    place: &Place,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, answered) = oneshot::channel();
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _ = answer.send(work());
    });
    spawned.map_err(|error| place.no_thread(&error))?;
    answered.await.unwrap_or_else(|_| Err(place.stopped()))
}
