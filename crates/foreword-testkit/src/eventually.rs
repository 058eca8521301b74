//! Waits for a condition that sends no notification, for example in another process. Prefer a channel or
//! [`FakeProvider::until`](crate::FakeProvider::until) where there is one.

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Generous, because it only delays failing tests.
const DEADLINE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Polls `probe` until it returns a value.
///
/// # Panics
/// With the last error, after a minute without a value.
pub async fn eventually<T, E: Debug>(mut probe: impl AsyncFnMut() -> Result<T, E>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(state) => assert!(Instant::now() < deadline, "not after {DEADLINE:?}: {state:?}"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Polls until `is_so` returns true; `what` is the message of the failure.
///
/// # Panics
/// After a minute.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    eventually(async || if is_so().await { Ok(()) } else { Err(what) }).await;
}

/// As [`eventually`], for tests without a runtime.
///
/// # Panics
/// With the last error, after a minute without a value, or if no runtime can be started.
pub fn eventually_blocking<T, E: Debug>(mut probe: impl FnMut() -> Result<T, E>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else { unreachable!("a runtime without I/O needs no resources") };
    runtime.block_on(eventually(async || probe()))
}
