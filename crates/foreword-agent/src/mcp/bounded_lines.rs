//! A reader that fails on overlong lines, or on too many lines at once. A message is one line, and an incomplete line
//! is buffered in memory.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

/// The maximum size of a message in bytes.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// The burst limit in lines.
const AT_ONCE: f64 = 20_000.0;
/// The sustained limit in lines per second.
const PER_SECOND: f64 = 2_000.0;

/// Whether a reader ended because a limit was exceeded.
#[derive(Debug, Clone, Default)]
pub(super) struct Flooded(Arc<AtomicBool>);

impl Flooded {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A token bucket: how many messages may still arrive, and as of when.
#[derive(Debug)]
pub(super) struct TokenBucket {
    left: f64,
    since: Instant,
}

impl Default for TokenBucket {
    fn default() -> Self {
        Self { left: AT_ONCE, since: Instant::now() }
    }
}

impl TokenBucket {
    /// Counts `more` messages; returns whether the limit still holds.
    pub(super) fn try_take(&mut self, more: f64) -> bool {
        self.left = (self.left + self.since.elapsed().as_secs_f64() * PER_SECOND).min(AT_ONCE) - more;
        self.since = Instant::now();
        self.left >= 0.0
    }
}

/// Reads from `inner` within the limits.
pub(super) struct BoundedLines<R> {
    inner: R,
    longest: usize,
    /// The length of the current line.
    line: usize,
    bucket: TokenBucket,
    flooded: Flooded,
}

impl<R> BoundedLines<R> {
    pub(super) fn new(inner: R, longest: usize) -> (Self, Flooded) {
        let flooded = Flooded::default();
        let reader =
            Self { inner, longest, line: 0, bucket: TokenBucket::default(), flooded: flooded.clone() };
        (reader, flooded)
    }

    /// Counts the bytes read; returns whether the limits still hold.
    fn is_within_limits(&mut self, bytes: &[u8]) -> bool {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let first = self.line + lines.next().map_or(0, <[u8]>::len);
        let (mut longest, mut last, mut ends) = (first, first, 0.0);
        for line in lines {
            (longest, last) = (longest.max(line.len()), line.len());
            ends += 1.0;
        }
        self.line = last;
        let few = self.bucket.try_take(ends);
        longest <= self.longest && few
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, buf) {
            Poll::Ready(Ok(())) if !self.is_within_limits(&buf.filled()[before..]) => {
                self.flooded.0.store(true, Ordering::Relaxed);
                buf.set_filled(before);
                Poll::Ready(Err(io::Error::other("it sends more than can be read")))
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(text: &[u8]) -> (bool, usize) {
        let (mut reader, flooded) = BoundedLines::new(text, 10);
        let mut out = Vec::new();
        let read = reader.read_to_end(&mut out).await;
        assert_eq!(read.is_err(), flooded.is_set());
        (flooded.is_set(), out.len())
    }

    #[tokio::test]
    async fn lines_within_bounds_come_through_as_they_are() {
        assert_eq!(read(b"0123456789\n0123456789\n\n").await, (false, 23));
    }

    #[tokio::test]
    async fn overlong_line_ends_the_stream() {
        assert!(read(b"0123456789a").await.0);
        assert!(read(b"x\n0123456789a\n").await.0);
    }

    #[tokio::test]
    async fn too_many_lines_end_the_stream() {
        assert!(!read(&b"\n".repeat(10_000)).await.0);
        assert!(read(&b"\n".repeat(100_000)).await.0);
    }
}
