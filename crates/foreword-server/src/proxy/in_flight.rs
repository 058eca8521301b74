//! A proxied request in flight. It is recorded exactly once, however it ends, also if everything is dropped because the
//! client disconnects.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

use super::exchange::{Exchange, ExchangeOutcome};
use super::key_mask::KeyMask;
use super::record::Tap;
use super::upstream_pool::PooledConnection;
use crate::app::App;
use crate::auth::limits::TurnPermit;

/// A proxied request in flight.
pub(crate) struct InFlight {
    app: App,
    /// `None` after the end.
    exchange: Option<Exchange>,
    tap: Option<Tap>,
    /// The token's turn permit.
    admitted: Option<TurnPermit>,
    began: Instant,
    waited: Duration,
}

impl InFlight {
    pub(crate) fn new(app: &App, exchange: Exchange, began: Instant) -> Self {
        let (app, exchange) = (app.clone(), Some(exchange));
        Self { app, exchange, tap: None, admitted: None, began, waited: Duration::ZERO }
    }

    /// Adds a turn permit, which is released at the end.
    pub(crate) fn with_permit(mut self, admitted: Option<TurnPermit>) -> Self {
        self.admitted = admitted;
        self
    }

    /// Adds time spent waiting for the provider.
    pub(crate) fn add_wait(&mut self, since: Instant) {
        self.waited += since.elapsed();
    }

    /// Changes the exchange that will be recorded.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = &mut self.exchange {
            change(exchange);
        }
    }

    /// The response head is about to be forwarded; `tap` reads the body.
    pub(crate) fn answered(&mut self, head: &http::response::Parts, tap: Option<Tap>) {
        self.tap = tap;
        let (took, waited) = (self.began.elapsed(), self.waited);
        let name = ["request-id", "x-request-id"].iter().find_map(|name| head.headers.get(*name));
        let name = name.and_then(|name| name.to_str().ok()).map(str::to_owned);
        self.update(|exchange| {
            exchange.status = Some(head.status);
            exchange.upstream_request_id = name;
            exchange.overhead += took.saturating_sub(waited);
        });
        if let Some(exchange) = &self.exchange {
            self.app.overhead.record(exchange.dialect, exchange.overhead);
        }
    }

    fn record_chunk(&mut self, piece: &[u8]) {
        let took = self.began.elapsed();
        self.update(|exchange| {
            exchange.first_byte.get_or_insert(took);
        });
        if let Some(tap) = &mut self.tap {
            tap.feed(piece);
        }
    }

    /// Records the exchange.
    pub(crate) fn end(&mut self, outcome: ExchangeOutcome) {
        let Some(mut exchange) = self.exchange.take() else { return };
        exchange.outcome = outcome;
        exchange.took = self.began.elapsed();
        if let Some(tap) = self.tap.take() {
            exchange.summary = tap.end();
        }
        self.app.recording.note(&self.app, exchange);
        self.admitted = None;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.end(ExchangeOutcome::ClientDisconnected);
    }
}

/// The response was aborted. The client sees an aborted response, as it would without a proxy.
#[derive(Debug, thiserror::Error)]
#[error("the provider aborted the response")]
pub(crate) struct UpstreamAborted;

/// The response body, forwarded chunk by chunk.
pub(crate) struct ProxyBody {
    answer: Incoming,
    in_flight: InFlight,
    /// Reused for another request when the body has ended.
    connection: Option<PooledConnection>,
    /// The timeout between two chunks.
    idle: Duration,
    /// Created when the first chunk has to be awaited.
    timer: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
    /// The reason of the abort.
    aborted: Option<ExchangeOutcome>,
    /// Masks the owner's provider keys.
    mask: Option<KeyMask>,
}

impl ProxyBody {
    pub(crate) fn new(answer: Incoming, in_flight: InFlight, idle: Duration) -> Self {
        let (connection, timer, aborted, mask) = (None, None, None, None);
        Self { answer, in_flight, connection, idle, timer, is_waiting: false, aborted, mask }
    }

    /// Adds the connection of the response.
    pub(crate) fn on(mut self, connection: PooledConnection) -> Self {
        self.connection = Some(connection);
        self
    }

    /// Records the end of the response and releases its connection.
    fn finish(&mut self) {
        self.in_flight.end(ExchangeOutcome::Answered);
        if let Some(connection) = self.connection.take() {
            connection.release();
        }
    }

    pub(crate) fn with_mask(mut self, mask: Option<KeyMask>) -> Self {
        self.mask = mask;
        self
    }

    /// Masks a frame. Flushes the mask with the last one, since the body is not polled again.
    fn masked_frame(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
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

    /// Aborts the response after the chunks before it are flushed: an error would discard them.
    fn abort(
        &mut self,
        outcome: ExchangeOutcome,
        context: &Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamAborted>>> {
        self.aborted = Some(outcome);
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Whether no chunk arrived for too long.
    fn poll_idle_timeout(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.idle)));
        if !self.is_waiting {
            timer.as_mut().reset(Instant::now() + self.idle);
            self.is_waiting = true;
        }
        timer.as_mut().poll(context)
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = UpstreamAborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamAborted>>> {
        let this = &mut *self;
        if let Some(outcome) = this.aborted.take() {
            this.in_flight.end(outcome);
            return Poll::Ready(Some(Err(UpstreamAborted)));
        }
        match Pin::new(&mut this.answer).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.is_waiting = false;
                let frame = this.masked_frame(frame);
                if let Some(piece) = frame.data_ref() {
                    this.in_flight.record_chunk(piece);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => this.abort(ExchangeOutcome::Aborted, context),
            Poll::Ready(None) => {
                let rest = this.mask.take().map_or_else(Bytes::new, |mut mask| mask.end());
                if !rest.is_empty() {
                    this.in_flight.record_chunk(&rest);
                    context.waker().wake_by_ref();
                    return Poll::Ready(Some(Ok(Frame::data(rest))));
                }
                this.finish();
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.poll_idle_timeout(context));
                this.abort(ExchangeOutcome::TimedOut, context)
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

impl Drop for ProxyBody {
    fn drop(&mut self) {
        // The body is not polled again after its last byte.
        if self.answer.is_end_stream() {
            self.finish();
        }
    }
}
