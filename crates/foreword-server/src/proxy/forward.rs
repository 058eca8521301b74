//! Sends a request on and passes the answer back as it comes. It is tried again only before anything of an answer has been
//! passed on, and never if the client does not want it.
//!
//! What is tried again: a connection that can't be made or that breaks before an answer, and the statuses 500, 502, 503, 504
//! and 529. A 429 is not: it reaches the client at once with its `retry-after`, since libraries know how to wait and people
//! want to know. A provider that wants more than a moment (`retry-after`) is not waited for either, nor is one that has
//! answered with `x-should-retry: false`.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use foreword_core::provider::WireDialect;
use foreword_core::retry::RetryPolicy;
use foreword_workspace::config::ProxyConfig;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;

use super::exchange::Outcome;
use super::flight::{Flight, Passing};
use super::headers;
use super::refusal::REQUEST_ID;
use super::upstream::Upstream;
use crate::app::App;
use crate::problem::Problem;
use crate::response_headers::protect;

/// The longest a provider's own wish is waited for while a client waits for us.
const MOMENT: Duration = Duration::from_secs(3);

/// A request as it goes to the provider.
pub(crate) struct Outgoing<'a> {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// How often it may be tried again.
    pub(crate) retries: u32,
    /// How long is waited before it is.
    pub(crate) policy: &'a RetryPolicy,
    pub(crate) waits: Waits,
}

/// How long a provider is waited for. Longer than for a call of the agent's own: whoever calls without a stream, or lets a
/// model think, hears nothing for minutes, and would have waited without us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waits {
    /// For the beginning of an answer.
    pub(crate) first_byte: Duration,
    /// For the next piece of it.
    pub(crate) idle: Duration,
}

/// How long the client wants to wait, as official libraries say it.
const WISH: &str = "x-stainless-timeout";
/// The longest wish that is believed, in seconds.
const LONGEST_WISH: f64 = 3_600.0;

impl Waits {
    /// As the configuration says, or the client for the beginning.
    pub(crate) fn of(headers: &HeaderMap, config: &ProxyConfig) -> Self {
        let wish = headers::text(headers, WISH).and_then(|text| text.parse::<f64>().ok());
        let wish = wish.filter(|seconds| seconds.is_finite());
        let first_byte = wish
            .map_or(config.first_byte, |seconds| Duration::from_secs_f64(seconds.clamp(1.0, LONGEST_WISH)));
        Self { first_byte, idle: config.idle }
    }
}

impl Outgoing<'_> {
    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        request.method_mut().clone_from(&self.method);
        request.uri_mut().clone_from(&self.uri);
        request.headers_mut().clone_from(&self.headers);
        request
    }
}

/// How often a request may be tried again: as often as the configuration says, or fewer times if the client says so. One
/// that is itself another try of the client's is tried once, so that tries do not multiply.
pub(crate) fn retries(headers: &HeaderMap, most: u32) -> u32 {
    let number = |name| headers::text(headers, name).and_then(|text| text.parse::<u32>().ok());
    let unwanted = headers::text(headers, "x-should-retry") == Some("false")
        || number("x-stainless-retry-count").is_some_and(|count| count > 0);
    if unwanted { 0 } else { number("x-foreword-retries").map_or(most, |wanted| wanted.min(most)) }
}

/// Sends a request on. What comes back is passed on as it comes.
pub(crate) async fn forward(
    app: &App,
    (upstream, dialect): (&Upstream, WireDialect),
    outgoing: Outgoing<'_>,
    mut flight: Flight,
) -> Result<Response, Problem> {
    let (policy, waits, mut tried) = (outgoing.policy, outgoing.waits, 0);
    let answer = loop {
        let sent = Instant::now();
        let attempt =
            tokio::time::timeout(waits.first_byte, upstream.client.request(outgoing.request())).await;
        flight.waited(sent);
        let left = tried < outgoing.retries;
        let wait = match &attempt {
            Ok(Ok(answer)) if left => wish(answer, policy, tried),
            Ok(Err(_)) if left => Some(delay(policy, tried)),
            _ => None,
        };
        let Some(wait) = wait else { break attempt };
        let paused = Instant::now();
        tokio::time::sleep(wait.mul_f64(0.5 + app.surroundings.chance() / 2.0)).await;
        flight.waited(paused);
        tried += 1;
        flight.set(|exchange| exchange.retries = tried);
    };
    match answer {
        Ok(Ok(answer)) => pass_back(app, (upstream, dialect), answer, (flight, waits.idle)),
        Ok(Err(error)) => {
            flight.end(Outcome::NotReached);
            let what = if error.is_connect() {
                "can't be reached"
            } else {
                "closed the connection without an answer"
            };
            Err(Problem::new(StatusCode::BAD_GATEWAY, "provider_unreachable", format!("the provider {what}"))
                .cause(format!("the provider `{}` {what}", upstream.name), None))
        }
        Err(_) => {
            flight.end(Outcome::TimedOut);
            let (name, limit) = (&upstream.name, waits.first_byte.as_secs_f64());
            let detail = format!("the provider `{name}` did not answer within {limit} seconds");
            let public = "the provider did not answer in time";
            Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, "provider_timeout", public).cause(detail, None))
        }
    }
}

/// How long to wait before another try, if this answer is worth one.
fn wish(answer: &http::Response<Incoming>, policy: &RetryPolicy, tried: u32) -> Option<Duration> {
    let headers = answer.headers();
    let passes = matches!(answer.status().as_u16(), 500 | 502 | 503 | 504 | 529);
    if !passes || headers::text(headers, "x-should-retry") == Some("false") {
        return None;
    }
    let seconds = headers::text(headers, "retry-after").and_then(|text| text.parse::<u64>().ok());
    match seconds.map(Duration::from_secs) {
        Some(wish) if wish > MOMENT => None,
        Some(wish) => Some(wish.max(delay(policy, tried))),
        None => Some(delay(policy, tried)),
    }
}

fn delay(policy: &RetryPolicy, tried: u32) -> Duration {
    policy.base_delay.saturating_mul(1 << tried.min(10)).min(policy.max_delay).min(MOMENT)
}

fn pass_back(
    app: &App,
    (upstream, dialect): (&Upstream, WireDialect),
    answer: http::Response<Incoming>,
    (mut flight, idle): (Flight, Duration),
) -> Result<Response, Problem> {
    let (mut head, body) = answer.into_parts();
    if matches!(head.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        flight.answered(&head, None);
        flight.end(Outcome::Answered);
        // A client that followed it would take its token along.
        let detail =
            format!("the provider `{}` answers with a redirect, which is not followed", upstream.name);
        let help = "write where it leads to as `base_url`".to_owned();
        let public = "the provider answers with a redirect, which is not followed";
        return Err(
            Problem::new(StatusCode::BAD_GATEWAY, "provider_redirects", public).cause(detail, Some(help))
        );
    }
    let content_type = head.headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let is_stream = content_type.starts_with(b"text/event-stream");
    let is_plain = !head.headers.contains_key(header::CONTENT_ENCODING);
    let tap = is_plain.then(|| app.recording.tap(dialect, is_stream));
    flight.answered(&head, tap);
    head.headers = headers::to_client(&head.headers, &upstream.keys);
    protect(&mut head.headers);
    let mask = upstream.keys.mask(!head.status.is_success()).filter(|_| is_plain);
    head.extensions = http::Extensions::new();
    head.version = http::Version::HTTP_11;
    Ok(Response::from_parts(head, Body::new(Passing::new(body, flight, idle).masked(mask))))
}

/// Tells the client our name for its request.
pub(crate) fn named(mut response: Response, request_id: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}
