//! Ctrl-C, as something a turn can be stopped by. From the first time on it no longer ends the program by itself.

use tokio::sync::watch;

/// How often Ctrl-C was pressed.
pub(crate) struct Interrupts(watch::Receiver<u32>);

impl Interrupts {
    /// Listens from now on. Needs a runtime around it.
    pub(crate) fn listen() -> Self {
        let (count, receiver) = watch::channel(0);
        tokio::spawn(async move {
            // Where there are no signals, nobody is waited for.
            while tokio::signal::ctrl_c().await.is_ok() {
                count.send_modify(|count: &mut u32| *count = count.saturating_add(1));
            }
        });
        Self(receiver)
    }

    /// What was pressed before does not count.
    pub(crate) fn forget(&mut self) {
        self.0.mark_unchanged();
    }

    /// The next one.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
