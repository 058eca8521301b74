//! Sends one request to the collector and classifies its answer. Follows no redirects and uses no proxy: data goes only
//! to the configured address.

use std::error::Error as _;
use std::time::Duration;

use foreword_core::provider::{BaseUrl, Secret};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, redirect};
use serde_json::Value;

use crate::error::ObserveError;

/// The path of traces below the collector's address.
const PATH: &str = "/v1/traces";
/// The maximum number of bytes read from an answer.
const MAX_ANSWER: usize = 64 << 10;
/// The maximum `retry-after` delay.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The HTTP client of the collector.
pub(super) struct Collector {
    client: Client,
    url: String,
}

/// The result of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Accepted, except for `rejected` spans.
    Taken { rejected: u64 },
    /// A temporary failure, with an optional delay.
    Later { why: String, pause: Option<Duration> },
    /// A permanent failure.
    Refused { why: String },
}

impl Collector {
    pub(super) fn new(
        endpoint: &BaseUrl,
        headers: &[(String, Secret)],
        timeout: Duration,
    ) -> Result<Self, ObserveError> {
        let refused = |reason: String| ObserveError::Collector { reason };
        let tls = foreword_tls::client_config_for(endpoint.as_str());
        let client = Client::builder()
            .tls_backend_preconfigured(tls.map_err(|error| refused(error.to_string()))?)
            .default_headers(header_map(headers).ok_or_else(|| refused("a header can't be sent".to_owned()))?)
            .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .http1_only()
            .timeout(timeout)
            .build()
            .map_err(|_| refused("can't build the HTTP client".to_owned()))?;
        let base = endpoint.as_str();
        let url = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
        Ok(Self { client, url })
    }

    /// The URL of requests.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) async fn send(&self, body: Vec<u8>) -> Answer {
        match self.client.post(&self.url).body(body).send().await {
            Ok(response) => answer(response).await,
            Err(error) => Answer::Later { why: cause(&error), pause: None },
        }
    }
}

async fn answer(response: Response) -> Answer {
    let status = response.status();
    if status.is_success() {
        return Answer::Taken { rejected: rejected(response).await };
    }
    let why = format!("it answered with HTTP {}", status.as_u16());
    match status.as_u16() {
        429 | 502..=504 => Answer::Later { why, pause: pause(response.headers()) },
        _ => Answer::Refused { why },
    }
}

/// The `retry-after` delay. The protocol uses seconds only.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

/// The number of rejected spans in the answer, 0 if it contains none.
async fn rejected(mut response: Response) -> u64 {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_ANSWER {
            return 0;
        }
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let number = &answer["partialSuccess"]["rejectedSpans"];
    number.as_u64().or_else(|| number.as_str()?.parse().ok()).unwrap_or_default()
}

fn header_map(headers: &[(String, Secret)]) -> Option<HeaderMap> {
    let mut out = HeaderMap::new();
    out.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in headers {
        let mut value = HeaderValue::from_str(value.reveal()).ok()?;
        value.set_sensitive(true);
        out.append(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
    }
    Some(out)
}

/// The network error without the address.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let deepest = std::iter::successors(error.source(), |inner| (*inner).source()).last();
    deepest.map_or_else(|| "the connection failed".to_owned(), ToString::to_string)
}
