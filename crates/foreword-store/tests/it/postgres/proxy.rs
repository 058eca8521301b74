//! A TCP proxy that a test can cut or stall, in particular during a commit.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What happens to the next connection that commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtCommit {
    /// The commit succeeds; its response is dropped and the connection closed.
    LoseAnswer,
    /// The commit is dropped and the connection closed.
    LoseCommit,
    /// The commit succeeds; its response never arrives, and the connection stays open.
    StallAnswer,
    /// The commit never arrives, and the connection stays open: the server waits for it.
    StallCommit,
}

/// The bytes of a commit message.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// A proxy to a server.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) port: u16,
    line: Arc<Line>,
    acceptor: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Line {
    trap: Mutex<Option<AtCommit>>,
    sprung: AtomicBool,
    /// Forwards nothing and closes nothing.
    stalled: AtomicBool,
    /// Rejects new connections.
    refuses: AtomicBool,
    /// Closes all connections.
    cut: Notify,
}

impl Proxy {
    pub(super) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let line = Arc::new(Line::default());
        let shared = Arc::clone(&line);
        let acceptor = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                if shared.refuses.load(Ordering::SeqCst) {
                    continue;
                }
                let line = Arc::clone(&shared);
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await {
                        join(client, server, &line).await;
                    }
                });
            }
        });
        Self { port: own, line, acceptor }
    }

    /// Closes all current connections.
    pub(super) fn cut(&self) {
        self.line.cut.notify_waiters();
    }

    /// Stops forwarding without closing connections.
    pub(super) fn stall(&self) {
        self.line.stalled.store(true, Ordering::SeqCst);
    }

    /// Rejects new connections, or accepts them again.
    pub(super) fn refuse(&self, refuses: bool) {
        self.line.refuses.store(refuses, Ordering::SeqCst);
    }

    /// Sets the fault for the next commit.
    pub(super) fn at_commit(&self, trap: AtCommit) {
        *self.line.trap.lock().unwrap() = Some(trap);
    }

    /// Whether a commit met the fault.
    pub(super) fn has_sprung(&self) -> bool {
        self.line.sprung.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.acceptor.abort();
        self.cut();
    }
}

/// Forwards bytes between the two until one of them closes, or `cut`.
async fn join(client: TcpStream, server: TcpStream, line: &Line) {
    let cut = line.cut.notified();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let silent = AtomicBool::new(false);
    let (there, back) =
        (there(from_client, to_server, line, &silent), back(from_server, to_client, line, &silent));
    tokio::select! {
        () = cut => {}
        _ = there => {}
        _ = back => {}
    }
}

async fn there(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    line: &Line,
    silent: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        if line.stalled.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let bytes = &buffer[..read];
        let Some((commit, trap)) = caught(bytes, line) else {
            to.write_all(bytes).await?;
            continue;
        };
        silent.store(true, Ordering::SeqCst);
        let arrives = matches!(trap, AtCommit::LoseAnswer | AtCommit::StallAnswer);
        to.write_all(if arrives { bytes } else { &bytes[..commit] }).await?;
        match trap {
            // Gives the server time to commit.
            AtCommit::LoseAnswer | AtCommit::LoseCommit => {
                tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                return Ok(());
            }
            AtCommit::StallAnswer | AtCommit::StallCommit => std::future::pending::<()>().await,
        }
    }
}

async fn back(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    line: &Line,
    silent: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer).await?;
        if silent.load(Ordering::SeqCst) || line.stalled.load(Ordering::SeqCst) {
            if read == 0 {
                // Never ends.
                std::future::pending::<()>().await;
            }
            continue;
        }
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
    }
}

/// The position of the commit in these bytes, and its fault.
fn caught(bytes: &[u8], line: &Line) -> Option<(usize, AtCommit)> {
    let commit = bytes.windows(COMMIT.len()).position(|window| window == COMMIT)?;
    let trap = line.trap.lock().unwrap().take()?;
    line.sprung.store(true, Ordering::SeqCst);
    Some((commit, trap))
}
