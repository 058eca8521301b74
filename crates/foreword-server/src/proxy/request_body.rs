//! Reads the body of a proxied request: collects it up to a limit, or discards it.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::api::extract::too_slow;
use crate::body_timeout::{BodyTimedOut, TimeoutBody};
use crate::middleware::body_limit::{is_too_large, too_large};
use crate::problem::Problem;

/// The largest body that is discarded rather than closing the connection.
const MAX_DRAIN_BYTES: usize = 256 * 1024;

/// The whole body, if it is not too large.
pub(super) async fn collect(
    mut body: TimeoutBody<Incoming>,
    headers: &HeaderMap,
    limit: usize,
) -> Result<Bytes, Problem> {
    let announced = length(headers);
    if is_too_large(headers, limit) {
        return Err(too_large());
    }
    let mut collected = BytesMut::new();
    loop {
        let piece = match body.frame().await {
            None => return Ok(collected.freeze()),
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) if error.is::<BodyTimedOut>() => return Err(too_slow()),
            Some(Err(_)) => return Err(Problem::bad_request("body_broken", "the body was aborted")),
        };
        if collected.len() + piece.len() > limit {
            return Err(too_large());
        }
        if collected.is_empty() {
            // Most bodies are a single frame, which is not copied.
            if announced == Some(piece.len()) {
                return Ok(piece);
            }
            collected.reserve(announced.unwrap_or(piece.len()));
        }
        collected.extend_from_slice(&piece);
    }
}

/// Discards the body of a refused request, so that the connection stays usable. For a large body the connection is
/// closed instead.
pub(super) async fn drain(mut body: TimeoutBody<Incoming>, headers: &HeaderMap) {
    if length(headers).is_none_or(|length| length > MAX_DRAIN_BYTES) {
        return;
    }
    while let Some(Ok(_)) = body.frame().await {}
}

fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
