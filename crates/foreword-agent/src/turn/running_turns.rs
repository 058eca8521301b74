//! Counts the running turns of this process.

use tokio::sync::watch;

/// The number of running turns.
#[derive(Debug, Default)]
pub(crate) struct RunningTurns(watch::Sender<usize>);

/// Counts one turn as running until it is dropped.
#[derive(Debug)]
pub(crate) struct Running<'u>(&'u RunningTurns);

impl RunningTurns {
    /// Counts one more turn.
    pub(crate) fn begin(&self) -> Running<'_> {
        self.0.send_modify(|running| *running += 1);
        Running(self)
    }

    /// Waits until no turn runs.
    pub(crate) async fn wait_idle(&self) {
        // `self` owns the sender, so the channel is open.
        let _ = self.0.subscribe().wait_for(|running| *running == 0).await;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|running| *running = running.saturating_sub(1));
    }
}
