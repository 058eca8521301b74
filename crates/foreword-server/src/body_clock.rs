//! A time for the body of a request: so long between two pieces, and ten times as long for all of it. Whoever sends a byte now
//! and then to keep a place is told that it takes too long.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// How many times as long the whole may take.
const WHOLE: u32 = 10;

/// A body that must come in time.
pub(crate) struct Timed<B> {
    body: B,
    patience: Duration,
    end: Instant,
    /// Set while a piece is waited for; most bodies are there when they are asked for.
    alarm: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    ended: Ended,
}

/// Whether a body was read to its end. If it was not, the connection can't be used for another request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ended(Arc<AtomicBool>);

impl Ended {
    pub(crate) fn is_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body took too long.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the body of the request did not come in time")]
pub(crate) struct TooSlow;

impl<B> Timed<B> {
    pub(crate) fn new(body: B, patience: Duration) -> Self {
        let (end, ended) = (Instant::now() + patience * WHOLE, Ended::default());
        Self { body, patience, end, alarm: None, waiting: false, ended }
    }

    /// Says later whether all of it was read.
    pub(crate) fn ended(&self) -> Ended {
        self.ended.clone()
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let until = (Instant::now() + self.patience).min(self.end);
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if !self.waiting {
            alarm.as_mut().reset(until);
            self.waiting = true;
        }
        alarm.as_mut().poll(context).is_ready()
    }
}

impl<B: Body<Error: Error + Send + Sync + 'static> + Unpin> Body for Timed<B> {
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
                    self.ended.0.store(true, Ordering::Relaxed);
                }
                Poll::Ready(piece.map(|piece| piece.map_err(Into::into)))
            }
            Poll::Pending if self.is_over(context) => Poll::Ready(Some(Err(TooSlow.into()))),
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

/// Whether a body could not be read because it took too long.
pub(crate) fn ran_out(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<TooSlow>() {
            return true;
        }
        next = error.source();
    }
    false
}
