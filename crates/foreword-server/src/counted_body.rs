//! A response body that counts as in flight until its last byte is sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};

use crate::middleware::traffic::GaugeGuard;

/// A response body with its gauge guard.
pub(crate) struct CountedBody<B> {
    body: B,
    _in_flight: GaugeGuard,
}

impl<B> CountedBody<B> {
    pub(crate) fn new(body: B, in_flight: GaugeGuard) -> Self {
        Self { body, _in_flight: in_flight }
    }
}

impl<B: Body + Unpin> Body for CountedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
