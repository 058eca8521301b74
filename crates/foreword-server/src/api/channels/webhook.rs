//! Posts a webhook.

use std::time::Duration;

use foreword_core::provider::{BaseUrl, Secret};
use foreword_core::timestamp::Timestamp;
use http::{HeaderMap, StatusCode, header};
use reqwest::{Client, redirect};

use super::signature;

pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// The outcome of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WebhookOutcome {
    Delivered,
    /// A transient failure.
    Retry {
        error: String,
        /// The bridge's `Retry-After`.
        pause: Option<Duration>,
    },
    /// A permanent failure.
    Rejected(String),
}

/// The client for all bridges, without redirects, which could leak messages, and without a proxy.
pub(super) fn client() -> Result<Client, String> {
    // Without certificates, bridges with `http` still work.
    let tls = foreword_tls::client_config(foreword_tls::machine_certificates());
    Client::builder()
        .tls_backend_preconfigured(tls.map_err(|error| error.to_string())?)
        .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .timeout(TIMEOUT)
        .build()
        .map_err(|_| "can't create an HTTP client".to_owned())
}

/// Signs and posts `body`.
pub(super) async fn post(
    client: &Client,
    url: &BaseUrl,
    secret: &Secret,
    body: String,
    at: Timestamp,
) -> WebhookOutcome {
    let request = client
        .post(url.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .header(signature::HEADER, signature::of(body.as_bytes(), secret, at))
        .body(body);
    match request.send().await {
        Ok(response) => outcome(response.status(), response.headers()),
        Err(error) if error.is_timeout() => later("the bridge did not answer in time"),
        Err(error) if error.is_connect() => later("the bridge can't be reached"),
        // The URL may contain a password, so it is not part of the error.
        Err(_) => later("the connection to the bridge was aborted"),
    }
}

fn later(error: &str) -> WebhookOutcome {
    WebhookOutcome::Retry { error: error.to_owned(), pause: None }
}

fn outcome(status: StatusCode, headers: &HeaderMap) -> WebhookOutcome {
    let error = format!("the bridge answered with HTTP {}", status.as_u16());
    match status {
        status if status.is_success() => WebhookOutcome::Delivered,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            WebhookOutcome::Retry { error, pause: pause(headers) }
        }
        status if status.is_server_error() => WebhookOutcome::Retry { error, pause: pause(headers) },
        _ => WebhookOutcome::Rejected(error),
    }
}

/// `retry-after` in seconds. A date is ignored.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_errors_are_retried_others_are_not() {
        let later = |status: u16, seconds: Option<&str>| {
            let value = |seconds: &str| (header::RETRY_AFTER, seconds.parse().unwrap());
            outcome(StatusCode::from_u16(status).unwrap(), &seconds.map(value).into_iter().collect())
        };
        assert_eq!(later(204, None), WebhookOutcome::Delivered);
        for status in [408, 429, 500, 503] {
            assert!(matches!(later(status, None), WebhookOutcome::Retry { pause: None, .. }), "{status}");
        }
        for status in [301, 400, 401, 404, 410] {
            assert!(matches!(later(status, None), WebhookOutcome::Rejected(_)), "{status}");
        }
        let WebhookOutcome::Retry { pause, .. } = later(503, Some("7")) else { panic!("503 is tried again") };
        assert_eq!(pause, Some(Duration::from_secs(7)));
    }
}
