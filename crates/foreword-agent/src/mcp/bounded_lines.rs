//! A reader that ends when whoever writes gives no line ends, or too many lines at once: one message is one line, and what is
//! not read to its end is kept in memory until it is.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, ReadBuf};

/// The longest message, in bytes.
pub(super) const LONGEST_MESSAGE: usize = 4 * 1024 * 1024;
/// How many lines may come at once.
const AT_ONCE: f64 = 20_000.0;
/// And how many each second in the long run.
const PER_SECOND: f64 = 2_000.0;

/// Whether a reader ended because of too much.
#[derive(Debug, Clone, Default)]
pub(super) struct Flooded(Arc<AtomicBool>);

impl Flooded {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many messages may still come, and since when that is.
#[derive(Debug)]
pub(super) struct Allowance {
    left: f64,
    since: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: AT_ONCE, since: Instant::now() }
    }
}

impl Allowance {
    /// Takes note of so many more; says whether that is still bearable.
    pub(super) fn bears(&mut self, more: f64) -> bool {
        self.left = (self.left + self.since.elapsed().as_secs_f64() * PER_SECOND).min(AT_ONCE) - more;
        self.since = Instant::now();
        self.left >= 0.0
    }
}

/// Reads from `inner`, within bounds.
pub(super) struct BoundedLines<R> {
    inner: R,
    longest: usize,
    /// How long the line is so far.
    line: usize,
    allowance: Allowance,
    flooded: Flooded,
}

impl<R> BoundedLines<R> {
    pub(super) fn new(inner: R, longest: usize) -> (Self, Flooded) {
        let flooded = Flooded::default();
        let reader =
            Self { inner, longest, line: 0, allowance: Allowance::default(), flooded: flooded.clone() };
        (reader, flooded)
    }

    /// Takes note of what was read; says whether it is still bearable.
    fn bears(&mut self, bytes: &[u8]) -> bool {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let first = self.line + lines.next().map_or(0, <[u8]>::len);
        let (mut longest, mut last, mut ends) = (first, first, 0.0);
        for line in lines {
            (longest, last) = (longest.max(line.len()), line.len());
            ends += 1.0;
        }
        self.line = last;
        let few = self.allowance.bears(ends);
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
            Poll::Ready(Ok(())) if !self.bears(&buf.filled()[before..]) => {
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
    async fn a_line_without_an_end_ends_the_reading() {
        assert!(read(b"0123456789a").await.0);
        assert!(read(b"x\n0123456789a\n").await.0);
    }

    #[tokio::test]
    async fn more_lines_than_anybody_needs_end_it_too() {
        assert!(!read(&b"\n".repeat(10_000)).await.0);
        assert!(read(&b"\n".repeat(100_000)).await.0);
    }
}
