//! Closes a connection whose client may still be sending: shuts down the write side, then reads and discards for a
//! while. Closing a socket with unread bytes sends a reset, and the client of a refused upload would never read the
//! response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long a client may stay silent without closing its side.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a client may keep sending.
const LINGER_TIMEOUT: Duration = Duration::from_secs(10);
/// How many buffers one poll discards, so that other tasks get to run.
const MAX_READS_PER_POLL: usize = 64;

/// A stream whose shutdown lingers until the client has closed its side.
pub(crate) struct LingeringClose<I> {
    stream: I,
    linger: Option<Linger>,
    close_now: CloseNow,
}

/// The write side is shut down; the client has not closed its side yet.
struct Linger {
    end: Instant,
    timer: Pin<Box<Sleep>>,
}

/// Makes the shutdown skip lingering. A stopping server does not wait for clients that have their response.
#[derive(Debug, Clone, Default)]
pub(crate) struct CloseNow(Arc<AtomicBool>);

impl CloseNow {
    pub(crate) fn trigger(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<I> LingeringClose<I> {
    pub(crate) fn new(stream: I) -> Self {
        Self { stream, linger: None, close_now: CloseNow::default() }
    }

    pub(crate) fn close_now(&self) -> CloseNow {
        self.close_now.clone()
    }
}

impl<I: AsyncRead + Unpin> LingeringClose<I> {
    /// Reads and discards until the client closes its side or a timeout elapses.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut discarded = [0; 8 * 1024];
        let now = Instant::now();
        let linger = self.linger.get_or_insert_with(|| {
            let timer = Box::pin(sleep_until(now + IDLE_TIMEOUT));
            Linger { end: now + LINGER_TIMEOUT, timer }
        });
        for _ in 0..MAX_READS_PER_POLL {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    linger.timer.as_mut().reset((now + IDLE_TIMEOUT).min(linger.end));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return linger.timer.as_mut().poll(context),
            }
        }
        // There is more to read: let other tasks run first.
        context.waker().wake_by_ref();
        if now < linger.end { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for LingeringClose<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringClose<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        if !self.close_now.0.load(Ordering::Relaxed) {
            ready!(self.poll_discard(context));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn pair() -> (TcpStream, LingeringClose<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, LingeringClose::new(listener.accept().await.unwrap().0))
    }

    #[tokio::test]
    async fn client_that_still_writes_reads_the_refusal() {
        let (mut client, mut server) = pair().await;
        let refusing = tokio::spawn(async move {
            server.write_all(b"too much").await.unwrap();
            server.shutdown().await.unwrap();
        });
        // More than the socket buffers hold.
        client.write_all(&vec![0; 20_000_000]).await.unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "too much");
        drop(client);
        refusing.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_never_closes_is_disconnected() {
        for pause in [Duration::from_secs(3600), IDLE_TIMEOUT / 2] {
            let (mut client, server) = tokio::io::duplex(64);
            let mut server = LingeringClose::new(server);
            let writing = tokio::spawn(async move {
                while client.write_all(b"more").await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            });
            let began = Instant::now();
            server.shutdown().await.unwrap();
            assert_eq!(began.elapsed().as_secs(), if pause > IDLE_TIMEOUT { 1 } else { 10 });
            drop(server);
            writing.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stopping_server_closes_at_once() {
        for is_lingering in [false, true] {
            let (_client, server) = tokio::io::duplex(64);
            let mut server = LingeringClose::new(server);
            let began = Instant::now();
            if is_lingering {
                tokio::time::timeout(Duration::ZERO, server.shutdown()).await.unwrap_err();
            }
            server.close_now().trigger();
            server.shutdown().await.unwrap();
            assert_eq!(began.elapsed().as_secs(), 0);
        }
    }
}
