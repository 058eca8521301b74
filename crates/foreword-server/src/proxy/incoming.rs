//! The body of a request as it comes in: collected up to a limit, or read past if nobody wants it.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::api::extract::too_slow;
use crate::body_clock::{Timed, TooSlow};
use crate::body_limit::{is_too_large, too_large};
use crate::problem::Problem;

/// The largest body that is read only to be thrown away.
const WORTH_READING: usize = 256 * 1024;

/// The whole body, if it is not too large.
pub(super) async fn collect(
    mut body: Timed<Incoming>,
    headers: &HeaderMap,
    most: usize,
) -> Result<Bytes, Problem> {
    let said = length(headers);
    if is_too_large(headers, most) {
        return Err(too_large());
    }
    let mut collected = BytesMut::new();
    loop {
        let piece = match body.frame().await {
            None => return Ok(collected.freeze()),
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) if error.is::<TooSlow>() => return Err(too_slow()),
            Some(Err(_)) => return Err(Problem::bad_request("body_broken", "the body broke off")),
        };
        if collected.len() + piece.len() > most {
            return Err(too_large());
        }
        if collected.is_empty() {
            // Most bodies are one piece, which is not copied.
            if said == Some(piece.len()) {
                return Ok(piece);
            }
            collected.reserve(said.unwrap_or(piece.len()));
        }
        collected.extend_from_slice(&piece);
    }
}

/// Reads past the body of a request that is refused. Clients send it behind the head without waiting, and would find their
/// connection closed at the next request otherwise. What is large is not worth it: the connection ends with the refusal.
pub(super) async fn drain(mut body: Timed<Incoming>, headers: &HeaderMap) {
    if length(headers).is_none_or(|length| length > WORTH_READING) {
        return;
    }
    while let Some(Ok(_)) = body.frame().await {}
}

fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
