//! Timeouts for a request body: one between two frames, and ten times that for the whole body. A client that trickles
//! bytes to hold a connection is refused with 408.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// The timeout of the whole body, as a multiple of the timeout between frames.
const TOTAL_FACTOR: u32 = 10;

/// A body with a timeout.
pub(crate) struct TimeoutBody<B> {
    body: B,
    timeout: Duration,
    end: Instant,
    /// Created when the first frame has to be awaited; most bodies have arrived by then.
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    end_of_body: EndOfBody,
}

/// Whether a body was read to its end. If not, the connection can't be reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndOfBody(Arc<AtomicBool>);

impl EndOfBody {
    pub(crate) fn is_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("timeout while reading the request body")]
pub(crate) struct BodyTimedOut;

impl<B> TimeoutBody<B> {
    pub(crate) fn new(body: B, timeout: Duration) -> Self {
        let (end, end_of_body) = (Instant::now() + timeout * TOTAL_FACTOR, EndOfBody::default());
        Self { body, timeout, end, timer: None, waiting: false, end_of_body }
    }

    /// A handle that tells whether the body was read to its end.
    pub(crate) fn end_of_body(&self) -> EndOfBody {
        self.end_of_body.clone()
    }

    fn is_timed_out(&mut self, context: &mut Context<'_>) -> bool {
        let until = (Instant::now() + self.timeout).min(self.end);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if !self.waiting {
            timer.as_mut().reset(until);
            self.waiting = true;
        }
        timer.as_mut().poll(context).is_ready()
    }
}

impl<B: Body<Error: Error + Send + Sync + 'static> + Unpin> Body for TimeoutBody<B> {
    type Data = B::Data;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, axum::BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(piece) => {
                self.waiting = false;
                if piece.is_none() || self.body.is_end_stream() {
                    self.end_of_body.0.store(true, Ordering::Relaxed);
                }
                Poll::Ready(piece.map(|piece| piece.map_err(Into::into)))
            }
            Poll::Pending if self.is_timed_out(context) => Poll::Ready(Some(Err(BodyTimedOut.into()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether the error was caused by a body timeout.
pub(crate) fn is_body_timeout(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<BodyTimedOut>() {
            return true;
        }
        next = error.source();
    }
    false
}
