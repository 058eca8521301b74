//! Answers that a client may have already: named by their content, and not sent twice.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::problem::Problem;

/// `body` as JSON, or the word that nothing has changed since the client last asked. It is asked for again each time: what
/// is stored in between may be anybody's.
pub(crate) fn tagged<T: Serialize>(headers: &HeaderMap, body: &T) -> Response {
    // What is answered has a JSON form.
    let body = serde_json::to_vec(body).unwrap_or_default();
    let tag = tag_of(&body);
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let has_it = known
        .flat_map(|value| value.split(','))
        .map(|one| one.trim().trim_start_matches("W/"))
        .any(|one| one == tag || one == "*");
    let cache = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let mut response = if has_it {
        (StatusCode::NOT_MODIFIED, cache).into_response()
    } else {
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        (cache, json, body).into_response()
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn tag_of(body: &[u8]) -> String {
    format!("\"{}\"", &blake3::hash(body).to_hex()[..32])
}

/// What a client says it has read before it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// What is there now.
    This,
    /// Nothing was said of it.
    Unsaid,
}

/// Refuses a write by somebody who has read something else than `current`, which is what a GET would give now.
pub(crate) fn has_read<T: Serialize>(headers: &HeaderMap, current: &T) -> Result<Read, Problem> {
    let mut tags = headers.get_all(header::IF_MATCH).iter().peekable();
    if tags.peek().is_none() {
        return Ok(Read::Unsaid);
    }
    let tag = tag_of(&serde_json::to_vec(current).unwrap_or_default());
    let said = tags.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    if said.map(str::trim).any(|one| one == tag || one == "*") {
        return Ok(Read::This);
    }
    Err(changed_meanwhile("it is not what `If-Match` names: somebody has changed it meanwhile"))
}

/// Somebody else was faster.
pub(crate) fn changed_meanwhile(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::PRECONDITION_FAILED, "changed_meanwhile", detail)
        .help("read it again, and decide anew")
}
