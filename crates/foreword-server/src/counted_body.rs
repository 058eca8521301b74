//! An answer that is under way until its last byte was handed over, and counts as such.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};

use crate::traffic::OneMore;

/// The body of an answer, and its place among those under way.
pub(crate) struct Counted<B> {
    body: B,
    _under_way: OneMore,
}

impl<B> Counted<B> {
    pub(crate) fn new(body: B, under_way: OneMore) -> Self {
        Self { body, _under_way: under_way }
    }
}

impl<B: Body + Unpin> Body for Counted<B> {
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
