//! Conditional requests: `ETag`, `If-None-Match` and `If-Match`.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::problem::Problem;

/// Responds with `body` as JSON, or 304 if the client has it. `no-store`, since a shared cache must not keep it.
pub(crate) fn json_with_etag<T: Serialize>(headers: &HeaderMap, body: &T) -> Response {
    // Serialising response types can't fail.
    let body = serde_json::to_vec(body).unwrap_or_default();
    let tag = tag_of(&body);
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let is_unchanged = known
        .flat_map(|value| value.split(','))
        .map(|one| one.trim().trim_start_matches("W/"))
        .any(|one| one == tag || one == "*");
    let cache = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let mut response = if is_unchanged {
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

/// The result of an `If-Match` check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMatch {
    /// It matches the current version.
    Matches,
    /// There is no such header.
    Absent,
}

/// Refuses a write whose `If-Match` does not match `current`, the JSON of a GET.
pub(crate) fn check_if_match<T: Serialize>(headers: &HeaderMap, current: &T) -> Result<IfMatch, Problem> {
    let mut tags = headers.get_all(header::IF_MATCH).iter().peekable();
    if tags.peek().is_none() {
        return Ok(IfMatch::Absent);
    }
    let tag = tag_of(&serde_json::to_vec(current).unwrap_or_default());
    let said = tags.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    if said.map(str::trim).any(|one| one == tag || one == "*") {
        return Ok(IfMatch::Matches);
    }
    Err(edit_conflict("`If-Match` does not match the current version: it was changed meanwhile"))
}

pub(crate) fn edit_conflict(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::PRECONDITION_FAILED, "changed_meanwhile", detail)
        .help("read the current version, and try again")
}
