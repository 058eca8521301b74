//! Errors of this server in the provider's format, so that client libraries raise their usual exceptions.

use axum::body::Body;
use axum::response::Response;
use foreword_core::provider::WireDialect;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::json;

use crate::problem::Problem;
use crate::response_headers::set_security_headers;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-foreword-request-id");
/// The code of the problem.
const CODE: HeaderName = HeaderName::from_static("x-foreword-error");

pub(crate) fn refusal(dialect: WireDialect, problem: &Problem, request_id: &str) -> Response {
    let message = match problem.advice() {
        Some(advice) => format!("foreword: {}; {advice}", problem.detail()),
        None => format!("foreword: {}", problem.detail()),
    };
    let status = problem.status();
    let kind = kind(dialect, status);
    let body = match dialect {
        WireDialect::Anthropic => {
            json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": request_id })
        }
        WireDialect::OpenAi => {
            let code = if status == StatusCode::UNAUTHORIZED { "invalid_api_key" } else { problem.code() };
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
        }
    };
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let words = [(REQUEST_ID, request_id), (CODE, problem.code())];
    headers
        .extend(words.into_iter().filter_map(|(name, word)| Some((name, HeaderValue::from_str(word).ok()?))));
    set_security_headers(headers);
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        // Such as a missing key, which a retry can't fix.
        headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    if let Some(seconds) = problem.seconds() {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// The provider's error type for a status.
fn kind(dialect: WireDialect, status: StatusCode) -> &'static str {
    match (dialect, status.as_u16()) {
        (WireDialect::Anthropic, 401) => "authentication_error",
        (_, 403) => "permission_error",
        (WireDialect::Anthropic, 404) => "not_found_error",
        (WireDialect::Anthropic, 413) => "request_too_large",
        (_, 429) => "rate_limit_error",
        (_, 400..=499) => "invalid_request_error",
        (WireDialect::Anthropic, _) => "api_error",
        (WireDialect::OpenAi, _) => "server_error",
    }
}
