//! Headers that every answer has, for browsers: no content type is guessed, and no JSON is stored.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};

/// Adds the headers to an answer.
pub(crate) async fn protected(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    protect(response.headers_mut());
    response
}

/// Forbids a browser to guess the content type and, of JSON, to store it: it may be somebody's conversation.
pub(crate) fn protect(headers: &mut HeaderMap) {
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    let content_type = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let media = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if media.ends_with(b"/json") || media.ends_with(b"+json") {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
