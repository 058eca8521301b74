//! A connection to a client that must read what it is sent: one that reads nothing for too long is let go, so that it keeps
//! neither its place nor what waits for it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection with a time for its reader.
pub(crate) struct PatientWrites<I> {
    stream: I,
    patience: Duration,
    /// Made when the first write has to wait; most never do.
    alarm: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl<I> PatientWrites<I> {
    pub(crate) fn new(stream: I, patience: Duration) -> Self {
        Self { stream, patience, alarm: None, waiting: false }
    }

    /// The same as `written`, or an error if that has been waited for too long.
    fn in_time<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = false;
            return written;
        }
        let until = Instant::now() + self.patience;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if !self.waiting {
            alarm.as_mut().reset(until);
            self.waiting = true;
        }
        ready!(alarm.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for PatientWrites<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for PatientWrites<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.in_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // With encryption the end is said, too, and has to be read.
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.in_time(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn whoever_reads_nothing_is_let_go_and_whoever_reads_slowly_is_not() {
        let (mut client, server) = tokio::io::duplex(8);
        let mut server = PatientWrites::new(server, SECOND * 10);
        let writing = tokio::spawn(async move {
            let slow = server.write_all(&[1; 32]).await;
            (slow.is_ok(), server.write_all(&[2; 32]).await.map_err(|error| error.kind()))
        });
        for _ in 0..4 {
            tokio::time::sleep(SECOND * 8).await;
            client.read_exact(&mut [0; 8]).await.unwrap();
        }
        assert_eq!(writing.await.unwrap(), (true, Err(io::ErrorKind::TimedOut)));
    }
}
