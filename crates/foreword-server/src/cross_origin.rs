//! Pages of others that the owner has named (`server.origins`) may read what they are answered. A browser asks first, without a
//! token; what a token opens is decided as for everybody. Cookies are our own page's alone, so none are ever asked for.

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};

use crate::app::App;

/// What such a page may see of the head of an answer, besides what any may.
const SHOWN: &str = "x-request-id, x-foreword-request-id, x-foreword-conversation, x-foreword-error, request-id, etag, retry-after";
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
/// How long a browser need not ask again, in seconds.
const HOLDS: &str = "600";

/// A page of somebody else's that may talk to the server.
#[derive(Debug, Clone)]
pub(crate) struct NamedPage(HeaderValue);

impl NamedPage {
    /// The page a request comes from, if it is one that was named.
    pub(crate) fn of(headers: &HeaderMap, app: &App) -> Option<Self> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (origin, None) = (origins.next()?, origins.next()) else { return None };
        let is_named = app.config().server.origins.contains(&origin.to_str().ok()?.to_ascii_lowercase());
        is_named.then(|| Self(origin.clone()))
    }

    /// The answer to a browser that asks whether its page may ask.
    pub(crate) fn permission<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let asks = request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if !asks {
            return None;
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(HOLDS));
        if let Some(wanted) = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        self.shown(headers);
        Some(response)
    }

    /// Lets the page read an answer.
    pub(crate) fn shown(&self, headers: &mut HeaderMap) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, self.0.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(SHOWN));
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}
