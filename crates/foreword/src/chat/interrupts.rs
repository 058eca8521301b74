//! Ctrl-C, as something a turn can be stopped by. Once it is listened for it no longer ends the program by itself.

use std::io;

use tokio::sync::watch;

/// How often Ctrl-C was pressed.
pub(crate) struct Interrupts(watch::Receiver<u32>);

impl Interrupts {
    /// Listens from now on. Needs a runtime around it, and must come before a line editor: that puts back what it found
    /// when it is done with a line.
    pub(crate) fn listen() -> io::Result<Self> {
        let (count, receiver) = watch::channel(0);
        let mut presses = Presses::listen()?;
        tokio::spawn(async move {
            while presses.next().await {
                count.send_modify(|count: &mut u32| *count = count.saturating_add(1));
            }
        });
        Ok(Self(receiver))
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

/// What the operating system tells.
#[cfg(unix)]
struct Presses(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Presses {
    fn listen() -> io::Result<Self> {
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map(Self)
    }

    async fn next(&mut self) -> bool {
        self.0.recv().await.is_some()
    }
}

/// What the operating system tells.
#[cfg(windows)]
struct Presses(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Presses {
    fn listen() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> bool {
        self.0.recv().await.is_some()
    }
}
