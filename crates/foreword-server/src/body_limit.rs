//! Bodies that are too large are refused: at once if the head of the request says so, else when too much of it has come.

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, header};

use crate::app::App;
use crate::auth::Caller;
use crate::auth::limits::largest_body;
use crate::problem::Problem;

/// Refuses a request whose head says that its body is too large. Nothing of the body is read. One whose head says nothing
/// is read that far.
pub(crate) async fn small_enough(
    State(app): State<App>,
    caller: Caller,
    mut request: Request,
    next: Next,
) -> Response {
    let limit = largest_body(caller.api_token(), &app.config().server.limits);
    if is_too_large(request.headers(), limit) {
        return too_large().into_response();
    }
    DefaultBodyLimit::max(limit).apply(&mut request);
    next.run(request).await
}

/// Whether the head says that the body is larger than `limit`.
pub(crate) fn is_too_large(headers: &HeaderMap, limit: usize) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64)
}

/// That a body is too large.
pub(crate) fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "the body is larger than is allowed")
        .help("`server.limits.body_mb` of foreword.yaml says how large it may be, and `foreword --json token list` whether this token may send less")
}
