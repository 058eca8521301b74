//! CORS for the origins in `server.origins`. Preflight requests need no token; all other requests are authenticated as
//! usual. Cookies are only accepted from the server's own page, so `Access-Control-Allow-Credentials` is never sent.

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};

use crate::app::App;

const EXPOSED_HEADERS: &str = "x-request-id, x-foreword-request-id, x-foreword-conversation, x-foreword-error, request-id, etag, retry-after";
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
/// How long a browser may cache a preflight response, in seconds.
const MAX_AGE: &str = "600";

/// An origin in `server.origins`.
#[derive(Debug, Clone)]
pub(crate) struct AllowedOrigin(HeaderValue);

impl AllowedOrigin {
    /// The origin of a request, if it is allowed.
    pub(crate) fn of(headers: &HeaderMap, app: &App) -> Option<Self> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (origin, None) = (origins.next()?, origins.next()) else { return None };
        let is_allowed = app.config().server.origins.contains(&origin.to_str().ok()?.to_ascii_lowercase());
        is_allowed.then(|| Self(origin.clone()))
    }

    /// The response to a preflight request; `None` for other requests.
    pub(crate) fn preflight<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let is_preflight = request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if !is_preflight {
            return None;
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
        if let Some(requested) = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
        }
        self.add_headers(headers);
        Some(response)
    }

    /// Adds the CORS headers to a response.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, self.0.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}
