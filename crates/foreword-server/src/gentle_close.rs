//! The end of a connection whose client may still be writing: what it sends is read past for a moment. A socket that is closed
//! over unread bytes takes back what was last written, and the client of a refused upload would find its connection broken
//! instead of reading why.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long a client may send nothing and keep its side open.
const QUIET: Duration = Duration::from_secs(1);
/// How long it may go on sending.
const WHOLE: Duration = Duration::from_secs(10);
/// How much is read past at once, so that others get their turn.
const AT_ONCE: usize = 64;

/// A connection that ends without a word of the server's being lost.
pub(crate) struct GentleClose<I> {
    stream: I,
    leaving: Option<Leaving>,
    hurry: Hurry,
}

/// The server's side is closed; the client's is not yet.
struct Leaving {
    end: Instant,
    alarm: Pin<Box<Sleep>>,
}

/// Tells a connection to end at once, for a server that is stopping waits for nobody who has been answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hurry(Arc<AtomicBool>);

impl Hurry {
    pub(crate) fn up(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<I> GentleClose<I> {
    pub(crate) fn new(stream: I) -> Self {
        Self { stream, leaving: None, hurry: Hurry::default() }
    }

    pub(crate) fn hurry(&self) -> Hurry {
        self.hurry.clone()
    }
}

impl<I: AsyncRead + Unpin> GentleClose<I> {
    /// Reads past what still comes, until the client has closed its side, too, or has had its time.
    fn poll_past(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut thrown_away = [0; 8 * 1024];
        let now = Instant::now();
        let leaving = self.leaving.get_or_insert_with(|| {
            let alarm = Box::pin(sleep_until(now + QUIET));
            Leaving { end: now + WHOLE, alarm }
        });
        for _ in 0..AT_ONCE {
            let mut buffer = ReadBuf::new(&mut thrown_away);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    leaving.alarm.as_mut().reset((now + QUIET).min(leaving.end));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return leaving.alarm.as_mut().poll(context),
            }
        }
        // There is more: the others first.
        context.waker().wake_by_ref();
        if now < leaving.end { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for GentleClose<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for GentleClose<I> {
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
        if self.leaving.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        if !self.hurry.0.load(Ordering::Relaxed) {
            ready!(self.poll_past(context));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn pair() -> (TcpStream, GentleClose<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, GentleClose::new(listener.accept().await.unwrap().0))
    }

    #[tokio::test]
    async fn whoever_is_still_writing_reads_why_it_was_refused() {
        let (mut client, mut server) = pair().await;
        let refusing = tokio::spawn(async move {
            server.write_all(b"too much").await.unwrap();
            server.shutdown().await.unwrap();
        });
        // More than the sockets hold.
        client.write_all(&vec![0; 20_000_000]).await.unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "too much");
        drop(client);
        refusing.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_never_closes_is_let_go_when_it_is_quiet_and_when_it_is_not() {
        for pause in [Duration::from_secs(3600), QUIET / 2] {
            let (mut client, server) = tokio::io::duplex(64);
            let mut server = GentleClose::new(server);
            let writing = tokio::spawn(async move {
                while client.write_all(b"more").await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            });
            let began = Instant::now();
            server.shutdown().await.unwrap();
            assert_eq!(began.elapsed().as_secs(), if pause > QUIET { 1 } else { 10 });
            drop(server);
            writing.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stops_waits_for_nobody() {
        for is_leaving in [false, true] {
            let (_client, server) = tokio::io::duplex(64);
            let mut server = GentleClose::new(server);
            let began = Instant::now();
            if is_leaving {
                tokio::time::timeout(Duration::ZERO, server.shutdown()).await.unwrap_err();
            }
            server.hurry().up();
            server.shutdown().await.unwrap();
            assert_eq!(began.elapsed().as_secs(), 0);
        }
    }
}
