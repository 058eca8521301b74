//! Extractors whose rejections are a [`Problem`].

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::body_timeout;
use crate::middleware::body_limit::too_large;
use crate::problem::Problem;

/// A JSON body.
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
                .help("`/openapi.json` lists the fields")
        }
        JsonRejection::JsonSyntaxError(_) => Problem::bad_request("bad_json", words),
        JsonRejection::MissingJsonContentType(_) => {
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", "the `Content-Type` is not JSON")
                .help("send `content-type: application/json`")
        }
        _ if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ if body_timeout::is_body_timeout(rejection) => too_slow(),
        _ => Problem::bad_request("bad_body", words),
    }
}

pub(crate) fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", "timeout while reading the request body")
        .help("`server.limits.header_seconds` in foreword.yaml sets the timeout")
}

/// The query parameters.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let refused = |rejection: QueryRejection| Problem::bad_request("bad_query", rejection.body_text());
        read.map(|axum::extract::Query(query)| Self(query)).map_err(refused)
    }
}

/// The path parameters.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let refused = |rejection: PathRejection| Problem::bad_request("bad_path", rejection.body_text());
        read.map(|axum::extract::Path(path)| Self(path)).map_err(refused)
    }
}
