//! Refuses request bodies that are too large: at once by `Content-Length`, else while reading.

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, header};

use crate::app::App;
use crate::auth::Caller;
use crate::auth::limits::max_body_bytes;
use crate::problem::Problem;

/// Middleware: refuses a request whose `Content-Length` exceeds the token's limit without reading the body, and limits
/// bodies of unknown length.
pub(crate) async fn limit_body(
    State(app): State<App>,
    caller: Caller,
    mut request: Request,
    next: Next,
) -> Response {
    let limit = max_body_bytes(caller.api_token(), &app.config().server.limits);
    if is_too_large(request.headers(), limit) {
        return too_large().into_response();
    }
    DefaultBodyLimit::max(limit).apply(&mut request);
    next.run(request).await
}

/// Whether `Content-Length` exceeds `limit`.
pub(crate) fn is_too_large(headers: &HeaderMap, limit: usize) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64)
}

pub(crate) fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "the body is too large")
        .help("`server.limits.body_mb` in foreword.yaml sets the maximum; `foreword --json token list` shows whether this token has a lower one")
}
