//! Answers that a client may have already: named by their content, and not sent twice.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;

/// `body` as JSON, or the word that nothing has changed since the client last asked. It is asked for again each time: what
/// is stored in between may be anybody's.
pub(crate) fn tagged<T: Serialize>(headers: &HeaderMap, body: &T) -> Response {
    // What is answered has a JSON form.
    let body = serde_json::to_vec(body).unwrap_or_default();
    let tag = format!("\"{}\"", &blake3::hash(&body).to_hex()[..32]);
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let has_it = known
        .flat_map(|value| value.split(','))
        .map(|one| one.trim().trim_start_matches("W/"))
        .any(|one| one == tag || one == "*");
    let cache = [(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"))];
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
