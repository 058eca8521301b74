//! Middleware of the HTTP server: request ids, body limits, request counts. Authentication is `auth::authenticate`, the
//! rate limit `auth::limit_rate`.

pub(crate) mod body_limit;
pub(crate) mod request_id;
pub(crate) mod traffic;
