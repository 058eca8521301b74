//! Ctrl-C as an event that stops a turn. Once listened for, it no longer ends the program.

use std::io;

use tokio::sync::watch;

/// Counts presses of Ctrl-C.
pub(crate) struct Interrupts(watch::Receiver<u32>);

impl Interrupts {
    /// Starts listening. Must be called within a runtime, and before a line editor is created: the editor restores the
    /// signal handler it found after each line.
    pub(crate) fn listen() -> io::Result<Self> {
        let (count, receiver) = watch::channel(0);
        let mut interrupts = InterruptStream::listen()?;
        tokio::spawn(async move {
            while interrupts.next().await {
                count.send_modify(|count: &mut u32| *count = count.saturating_add(1));
            }
        });
        Ok(Self(receiver))
    }

    /// Ignores earlier presses.
    pub(crate) fn discard_pending(&mut self) {
        self.0.mark_unchanged();
    }

    /// Waits for the next press.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct InterruptStream(tokio::signal::unix::Signal);

#[cfg(unix)]
impl InterruptStream {
    fn listen() -> io::Result<Self> {
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map(Self)
    }

    async fn next(&mut self) -> bool {
        self.0.recv().await.is_some()
    }
}

#[cfg(windows)]
struct InterruptStream(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl InterruptStream {
    fn listen() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> bool {
        self.0.recv().await.is_some()
    }
}
