//! What a handler is given, read out of a request; whatever can't be read is refused with a problem that says where.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::body_clock;
use crate::body_limit::too_large;
use crate::problem::Problem;

/// A body of JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match axum::Json::<T>::from_request(request, state).await {
            Ok(axum::Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(refused_body(&rejection)),
        }
    }
}

fn refused_body(rejection: &JsonRejection) -> Problem {
    let words = rejection.body_text();
    match rejection {
        JsonRejection::JsonDataError(_) => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong_fields", words)
                .help("`/openapi.json` says which fields there are")
        }
        JsonRejection::JsonSyntaxError(_) => Problem::bad_request("bad_json", words),
        JsonRejection::MissingJsonContentType(_) => {
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", "the body is not said to be JSON")
                .help("send `content-type: application/json`")
        }
        _ if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ if body_clock::ran_out(rejection) => too_slow(),
        _ => Problem::bad_request("bad_body", words),
    }
}

/// The body took too long.
pub(crate) fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", "the body of the request did not come in time")
        .help("`server.limits.header_seconds` of foreword.yaml says how long it may pause")
}

/// What stands behind the `?`.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let refused = |rejection: QueryRejection| Problem::bad_request("bad_query", rejection.body_text());
        read.map(|axum::extract::Query(query)| Self(query)).map_err(refused)
    }
}

/// What stands in the path.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let refused = |rejection: PathRejection| Problem::bad_request("bad_path", rejection.body_text());
        read.map(|axum::extract::Path(path)| Self(path)).map_err(refused)
    }
}
