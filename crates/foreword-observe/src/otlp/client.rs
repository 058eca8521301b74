//! One request to the collector: where it goes, with what, and what its answer means. Follows no redirect and knows no proxy:
//! what is told goes where the configuration says and nowhere else.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::provider::{BaseUrl, Secret};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, redirect};
use serde_json::Value;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::error::ObserveError;

/// Where traces go, below the address of the collector.
const PATH: &str = "/v1/traces";
/// The most that is read of an answer.
const MAX_ANSWER: usize = 64 << 10;
/// The longest a collector is left alone because it said so.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The way to the collector.
pub(super) struct Collector {
    client: Client,
    url: String,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It was taken, but for so many spans.
    Taken { rejected: u64 },
    /// It may go well another time, perhaps after a pause.
    Later { why: String, pause: Option<Duration> },
    /// It never will.
    Refused { why: String },
}

impl Collector {
    pub(super) fn new(
        endpoint: &BaseUrl,
        headers: &[(String, Secret)],
        timeout: Duration,
    ) -> Result<Self, ObserveError> {
        let refused = |reason: String| ObserveError::Collector { reason };
        let client = Client::builder()
            .tls_backend_preconfigured(tls(endpoint).map_err(refused)?)
            .default_headers(header_map(headers).ok_or_else(|| refused("a header can't be sent".to_owned()))?)
            .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .http1_only()
            .timeout(timeout)
            .build()
            .map_err(|_| refused("no HTTP client can be made".to_owned()))?;
        let base = endpoint.as_str();
        let url = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
        Ok(Self { client, url })
    }

    /// Where it sends.
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

/// How long the collector wants to be left alone. The protocol speaks of seconds only.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

/// How many spans it says it did not take. An answer that says nothing of the kind has taken them all.
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

/// Whom to trust: the certificates of this machine, if any are needed at all.
fn tls(endpoint: &BaseUrl) -> Result<ClientConfig, String> {
    let mut trusted = RootCertStore::empty();
    if endpoint.as_str().starts_with("https://") {
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if trusted.is_empty() {
            return Err(
                "this machine trusts no certificates; install the package `ca-certificates`".to_owned()
            );
        }
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(trusted)
        .with_no_client_auth())
}

/// What the network said, without the address.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let deepest = std::iter::successors(error.source(), |inner| (*inner).source()).last();
    deepest.map_or_else(|| "the connection failed".to_owned(), ToString::to_string)
}
