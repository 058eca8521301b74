//! Security headers of every response: `nosniff`, and `no-store` for JSON.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};

/// Middleware: adds the headers.
pub(crate) async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    set_security_headers(response.headers_mut());
    response
}

/// Sets `nosniff`, and `no-store` for JSON, which may contain a conversation.
pub(crate) fn set_security_headers(headers: &mut HeaderMap) {
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    let content_type = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let media = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if media.ends_with(b"/json") || media.ends_with(b"+json") {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
