//! A request under way. However it ends, it is noted once: also if the client goes away and everything is dropped.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

use super::exchange::{Exchange, Outcome};
use super::key_mask::KeyMask;
use super::record::Tap;
use crate::app::App;
use crate::auth::limits::Admitted;

/// A request under way.
pub(crate) struct Flight {
    app: App,
    /// Taken when it ends.
    exchange: Option<Exchange>,
    tap: Option<Tap>,
    /// The place among the turns of its token.
    admitted: Option<Admitted>,
    began: Instant,
    waited: Duration,
}

impl Flight {
    pub(crate) fn new(app: &App, exchange: Exchange, began: Instant) -> Self {
        let (app, exchange) = (app.clone(), Some(exchange));
        Self { app, exchange, tap: None, admitted: None, began, waited: Duration::ZERO }
    }

    /// The same, with its place among the turns of its token: free when it ends.
    pub(crate) fn holding(mut self, admitted: Option<Admitted>) -> Self {
        self.admitted = admitted;
        self
    }

    /// Time that the provider took, and not we.
    pub(crate) fn waited(&mut self, since: Instant) {
        self.waited += since.elapsed();
    }

    /// Changes what will be noted.
    pub(crate) fn set(&mut self, change: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = &mut self.exchange {
            change(exchange);
        }
    }

    /// The head of the answer is there, and about to be passed on; `tap` looks at what follows.
    pub(crate) fn answered(&mut self, head: &http::response::Parts, tap: Option<Tap>) {
        self.tap = tap;
        let (took, waited) = (self.began.elapsed(), self.waited);
        let name = ["request-id", "x-request-id"].iter().find_map(|name| head.headers.get(*name));
        let name = name.and_then(|name| name.to_str().ok()).map(str::to_owned);
        self.set(|exchange| {
            exchange.status = Some(head.status);
            exchange.upstream_request_id = name;
            exchange.overhead += took.saturating_sub(waited);
        });
        if let Some(exchange) = &self.exchange {
            self.app.overhead.record(exchange.dialect, exchange.overhead);
        }
    }

    fn piece(&mut self, piece: &[u8]) {
        let took = self.began.elapsed();
        self.set(|exchange| {
            exchange.first_byte.get_or_insert(took);
        });
        if let Some(tap) = &mut self.tap {
            tap.feed(piece);
        }
    }

    /// That is the end of it.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        let Some(mut exchange) = self.exchange.take() else { return };
        exchange.outcome = outcome;
        exchange.took = self.began.elapsed();
        if let Some(tap) = self.tap.take() {
            exchange.tapped = tap.end();
        }
        self.app.recording.note(&self.app, exchange);
        self.admitted = None;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.end(Outcome::ClientWentAway);
    }
}

/// Why an answer was cut off. Nobody reads it: the client sees an answer that breaks off, as it would without us.
#[derive(Debug, thiserror::Error)]
#[error("the provider's answer broke off")]
pub(crate) struct CutOff;

/// An answer as it passes, piece by piece as it comes.
pub(crate) struct Passing {
    answer: Incoming,
    flight: Flight,
    /// The longest silence between two pieces.
    idle: Duration,
    /// Runs while nothing comes.
    timer: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
    /// How it broke off, once it has.
    broken: Option<Outcome>,
    /// Masks the owner's keys.
    mask: Option<KeyMask>,
}

impl Passing {
    pub(crate) fn new(answer: Incoming, flight: Flight, idle: Duration) -> Self {
        Self { answer, flight, idle, timer: None, is_waiting: false, broken: None, mask: None }
    }

    /// The same, with keys masked.
    pub(crate) fn masked(mut self, mask: Option<KeyMask>) -> Self {
        self.mask = mask;
        self
    }

    /// What passes of a frame. Nothing is held back behind the last one: nobody asks for more then.
    fn passed(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        let Some(mask) = &mut self.mask else { return frame };
        match frame.into_data() {
            Ok(piece) => {
                let masked = mask.feed(piece);
                let rest = if self.answer.is_end_stream() { mask.end() } else { Bytes::new() };
                Frame::data(if rest.is_empty() { masked } else { [masked, rest].concat().into() })
            }
            Err(other) => other,
        }
    }

    /// The answer breaks off. What came before is on its way to the client first: a connection that ends with an error takes
    /// along what was not sent yet.
    fn break_off(
        &mut self,
        outcome: Outcome,
        context: &Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        self.broken = Some(outcome);
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Nothing has come now: looks whether that has been so for too long.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.idle)));
        if !self.is_waiting {
            timer.as_mut().reset(tokio::time::Instant::now() + self.idle);
            self.is_waiting = true;
        }
        timer.as_mut().poll(context)
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        let this = &mut *self;
        if let Some(outcome) = this.broken.take() {
            this.flight.end(outcome);
            return Poll::Ready(Some(Err(CutOff)));
        }
        match Pin::new(&mut this.answer).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.is_waiting = false;
                let frame = this.passed(frame);
                if let Some(piece) = frame.data_ref() {
                    this.flight.piece(piece);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => this.break_off(Outcome::BrokeOff, context),
            Poll::Ready(None) => {
                let rest = this.mask.take().map_or_else(Bytes::new, |mut mask| mask.end());
                if !rest.is_empty() {
                    this.flight.piece(&rest);
                    context.waker().wake_by_ref();
                    return Poll::Ready(Some(Ok(Frame::data(rest))));
                }
                this.flight.end(Outcome::Answered);
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.wait(context));
                this.break_off(Outcome::TimedOut, context)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.answer.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.answer.size_hint()
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // Whoever has all the bytes does not ask for more.
        if self.answer.is_end_stream() {
            self.flight.end(Outcome::Answered);
        }
    }
}
