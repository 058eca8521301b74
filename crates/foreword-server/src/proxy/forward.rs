//! Forwards a request to the provider and streams the response back. Retries only before any part of a response was
//! forwarded, and never against the client's wish.
//!
//! Retried are failed or broken connections, and the statuses 500, 502, 503, 504 and 529. A 429 is forwarded at once
//! with its `retry-after`, which client libraries handle. Not retried are responses with a long `retry-after` or with
//! `x-should-retry: false`.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use foreword_core::provider::WireDialect;
use foreword_core::retry::RetryPolicy;
use foreword_workspace::config::ProxyConfig;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::exchange::ExchangeOutcome;
use super::headers;
use super::in_flight::{InFlight, ProxyBody};
use super::refusal::REQUEST_ID;
use super::upstream::Upstream;
use super::upstream_pool::UpstreamError;
use crate::app::App;
use crate::problem::Problem;
use crate::response_headers::set_security_headers;

/// The longest delay before a retry.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(3);

/// A request to the provider.
pub(crate) struct UpstreamRequest<'a> {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The maximum number of retries.
    pub(crate) retries: u32,
    /// The delays between them.
    pub(crate) policy: &'a RetryPolicy,
    pub(crate) timeouts: UpstreamTimeouts,
}

/// Timeouts of a proxied request. Longer than those of the agent's own calls: a client without streaming, or with
/// extended thinking, may wait for minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UpstreamTimeouts {
    /// Until the first byte of the response.
    pub(crate) first_byte: Duration,
    /// Between two chunks.
    pub(crate) idle: Duration,
}

/// The client's timeout, as sent by the official libraries.
const TIMEOUT_HEADER: &str = "x-stainless-timeout";
const MAX_TIMEOUT_SECONDS: f64 = 3_600.0;

impl UpstreamTimeouts {
    /// The configured timeouts. The client's header overrides the first one.
    pub(crate) fn of(headers: &HeaderMap, config: &ProxyConfig) -> Self {
        let requested = headers::text(headers, TIMEOUT_HEADER).and_then(|text| text.parse::<f64>().ok());
        let requested = requested.filter(|seconds| seconds.is_finite());
        let first_byte = requested.map_or(config.first_byte, |seconds| {
            Duration::from_secs_f64(seconds.clamp(1.0, MAX_TIMEOUT_SECONDS))
        });
        Self { first_byte, idle: config.idle }
    }
}

impl UpstreamRequest<'_> {
    fn request(&self, upstream: &Upstream) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        request.method_mut().clone_from(&self.method);
        request.uri_mut().clone_from(&self.uri);
        request.headers_mut().clone_from(&self.headers);
        request.headers_mut().insert(header::HOST, upstream.pool.host().clone());
        request
    }
}

/// The maximum number of retries: the configured one, or fewer if the client asks. A request that is a client's retry
/// is not retried, so that retries do not multiply.
pub(crate) fn retries(headers: &HeaderMap, most: u32) -> u32 {
    let number = |name| headers::text(headers, name).and_then(|text| text.parse::<u32>().ok());
    let unwanted = headers::text(headers, "x-should-retry") == Some("false")
        || number("x-stainless-retry-count").is_some_and(|count| count > 0);
    if unwanted { 0 } else { number("x-foreword-retries").map_or(most, |wanted| wanted.min(most)) }
}

/// Forwards a request and streams the response back.
pub(crate) async fn forward(
    app: &App,
    upstream: &Upstream,
    dialect: WireDialect,
    outgoing: UpstreamRequest<'_>,
    mut in_flight: InFlight,
) -> Result<Response, Problem> {
    let (policy, timeouts, mut tried) = (outgoing.policy, outgoing.timeouts, 0);
    let answer = loop {
        let sent = Instant::now();
        let attempt =
            tokio::time::timeout(timeouts.first_byte, upstream.pool.request(outgoing.request(upstream)))
                .await;
        in_flight.add_wait(sent);
        let left = tried < outgoing.retries;
        let wait = match &attempt {
            Ok(Ok((answer, _))) if left => retry_delay(answer, policy, tried),
            Ok(Err(_)) if left => Some(backoff(policy, tried)),
            _ => None,
        };
        let Some(wait) = wait else { break attempt };
        let paused = Instant::now();
        tokio::time::sleep(wait.mul_f64(0.5 + app.clock_and_rng.chance() / 2.0)).await;
        in_flight.add_wait(paused);
        tried += 1;
        in_flight.update(|exchange| exchange.retries = tried);
    };
    match answer {
        Ok(Ok((answer, connection))) => {
            let body = |body, in_flight| ProxyBody::new(body, in_flight, timeouts.idle).on(connection);
            pass_back(app, upstream, dialect, answer, in_flight, body)
        }
        Ok(Err(error)) => {
            in_flight.end(ExchangeOutcome::Unreachable);
            let what = match error {
                UpstreamError::Connect => "can't be reached",
                UpstreamError::Closed => "closed the connection without a response",
            };
            Err(Problem::new(StatusCode::BAD_GATEWAY, "provider_unreachable", format!("the provider {what}"))
                .cause(format!("the provider `{}` {what}", upstream.name), None))
        }
        Err(_) => {
            in_flight.end(ExchangeOutcome::TimedOut);
            let (name, limit) = (&upstream.name, timeouts.first_byte.as_secs_f64());
            let detail = format!("the provider `{name}` did not answer within {limit} seconds");
            let public = "the provider did not answer in time";
            Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, "provider_timeout", public).cause(detail, None))
        }
    }
}

/// The delay before a retry, if the response warrants one.
fn retry_delay(answer: &http::Response<Incoming>, policy: &RetryPolicy, tried: u32) -> Option<Duration> {
    let headers = answer.headers();
    let passes = matches!(answer.status().as_u16(), 500 | 502 | 503 | 504 | 529);
    if !passes || headers::text(headers, "x-should-retry") == Some("false") {
        return None;
    }
    let seconds = headers::text(headers, "retry-after").and_then(|text| text.parse::<u64>().ok());
    match seconds.map(Duration::from_secs) {
        Some(asked) if asked > MAX_RETRY_DELAY => None,
        Some(asked) => Some(asked.max(backoff(policy, tried))),
        None => Some(backoff(policy, tried)),
    }
}

fn backoff(policy: &RetryPolicy, tried: u32) -> Duration {
    policy.backoff().delay(tried + 1).min(MAX_RETRY_DELAY)
}

fn pass_back(
    app: &App,
    upstream: &Upstream,
    dialect: WireDialect,
    answer: http::Response<Incoming>,
    mut in_flight: InFlight,
    proxy_body: impl FnOnce(Incoming, InFlight) -> ProxyBody,
) -> Result<Response, Problem> {
    let (mut head, body) = answer.into_parts();
    if matches!(head.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        in_flight.answered(&head, None);
        in_flight.end(ExchangeOutcome::Answered);
        // A client that follows the redirect would send its token along.
        let detail =
            format!("the provider `{}` answers with a redirect, which is not followed", upstream.name);
        let help = "set its target as `base_url`".to_owned();
        let public = "the provider answers with a redirect, which is not followed";
        return Err(
            Problem::new(StatusCode::BAD_GATEWAY, "provider_redirects", public).cause(detail, Some(help))
        );
    }
    let content_type = head.headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let is_stream = content_type.starts_with(b"text/event-stream");
    let is_plain = !head.headers.contains_key(header::CONTENT_ENCODING);
    if !is_plain && !head.status.is_success() && upstream.keys.mask(true).is_some() {
        in_flight.answered(&head, None);
        in_flight.end(ExchangeOutcome::Answered);
        // `accept-encoding` is removed from requests, so only a provider that ignores that gets here.
        let public =
            "the provider's error is compressed, so it is not passed on: keys in it could not be masked";
        let detail = format!("the provider `{}` answers with a compressed error", upstream.name);
        return Err(Problem::new(head.status, "provider_error_compressed", public).cause(detail, None));
    }
    let tap = is_plain.then(|| app.recording.tap(dialect, is_stream));
    in_flight.answered(&head, tap);
    head.headers = headers::to_client(&head.headers, &upstream.keys);
    set_security_headers(&mut head.headers);
    let mask = upstream.keys.mask(!head.status.is_success()).filter(|_| is_plain);
    head.extensions = http::Extensions::new();
    head.version = http::Version::HTTP_11;
    Ok(Response::from_parts(head, Body::new(proxy_body(body, in_flight).with_mask(mask))))
}

/// Adds the request's id to the response.
pub(crate) fn add_request_id(mut response: Response, request_id: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}
