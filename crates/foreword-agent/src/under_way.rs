//! How many turns run in this process, for whoever wants to wait until none does.

use tokio::sync::watch;

/// The turns that run.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(watch::Sender<usize>);

/// A turn that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Running<'u>(&'u UnderWay);

impl UnderWay {
    /// One more.
    pub(crate) fn begin(&self) -> Running<'_> {
        self.0.send_modify(|running| *running += 1);
        Running(self)
    }

    /// Waits until there is none.
    pub(crate) async fn none(&self) {
        // The sender is here: it can't be gone.
        let _ = self.0.subscribe().wait_for(|running| *running == 0).await;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|running| *running = running.saturating_sub(1));
    }
}
