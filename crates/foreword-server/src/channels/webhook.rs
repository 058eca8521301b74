//! One answer, posted to a bridge.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::provider::{BaseUrl, Secret};
use foreword_core::timestamp::Timestamp;
use http::{HeaderMap, StatusCode, header};
use reqwest::{Client, redirect};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::signature;

/// How long a bridge may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What a bridge has said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It has it.
    Taken,
    /// Perhaps another time.
    Later {
        /// What went wrong.
        error: String,
        /// How long it wants to be left alone.
        pause: Option<Duration>,
    },
    /// It never will.
    Refused(String),
}

/// The client for all bridges. It follows no redirects, since they could lead what was said elsewhere, and knows no proxy.
pub(super) fn client() -> Result<Client, String> {
    let mut trusted = RootCertStore::empty();
    trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .timeout(PATIENCE)
        .build()
        .map_err(|_| "no HTTP client can be made".to_owned())
}

/// Posts `body`, signed.
pub(super) async fn post(
    client: &Client,
    (url, secret): (&BaseUrl, &Secret),
    body: String,
    at: Timestamp,
) -> Said {
    let request = client
        .post(url.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .header(signature::HEADER, signature::of(body.as_bytes(), secret, at))
        .body(body);
    match request.send().await {
        Ok(response) => said(response.status(), response.headers()),
        Err(error) if error.is_timeout() => later("the bridge does not answer in time"),
        Err(error) if error.is_connect() => later("the bridge can't be reached"),
        // The address is not told: it may hold a password.
        Err(_) => later("the bridge broke off"),
    }
}

fn later(error: &str) -> Said {
    Said::Later { error: error.to_owned(), pause: None }
}

fn said(status: StatusCode, headers: &HeaderMap) -> Said {
    let error = format!("the bridge answered with HTTP {}", status.as_u16());
    match status {
        status if status.is_success() => Said::Taken,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            Said::Later { error, pause: pause(headers) }
        }
        status if status.is_server_error() => Said::Later { error, pause: pause(headers) },
        _ => Said::Refused(error),
    }
}

/// `retry-after` in seconds; as a date it is rare, and our own pause will do.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_go_well_another_time_is_tried_again_and_the_rest_is_not() {
        let later = |status: u16, seconds: Option<&str>| {
            let value = |seconds: &str| (header::RETRY_AFTER, seconds.parse().unwrap());
            said(StatusCode::from_u16(status).unwrap(), &seconds.map(value).into_iter().collect())
        };
        assert_eq!(later(204, None), Said::Taken);
        for status in [408, 429, 500, 503] {
            assert!(matches!(later(status, None), Said::Later { pause: None, .. }), "{status}");
        }
        for status in [301, 400, 401, 404, 410] {
            assert!(matches!(later(status, None), Said::Refused(_)), "{status}");
        }
        let Said::Later { pause, .. } = later(503, Some("7")) else { panic!("503 is tried again") };
        assert_eq!(pause, Some(Duration::from_secs(7)));
    }
}
