//! Turns HTTP failures into errors that are safe to show: one line, without keys, and without passwords in addresses.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::model::{ErrorKind, ModelError};
use foreword_core::provider::{Provider, Secret};
use reqwest::Url;
use reqwest::header::{HeaderMap, LOCATION};

use super::Clock;
use crate::dialect::DecodeError;
use crate::error_response::{self, one_line};
use crate::mask::{mask, without};
use crate::retry_after::retry_after;

/// The maximum length of a provider's request id.
const MAX_REQUEST_ID: usize = 120;

/// Builds errors for one provider.
#[derive(Clone)]
pub(super) struct Reporter {
    provider: Arc<str>,
    /// The address without secrets.
    origin: Arc<str>,
    secrets: Arc<[Secret]>,
    clock: Clock,
}

/// The parts of the response head that errors report.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) status: u16,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    /// The target of a redirect.
    elsewhere: Option<String>,
}

impl Reporter {
    pub(super) fn new(provider: &Provider, key: Option<Secret>, url: &Url, clock: Clock) -> Self {
        let own = provider.headers.iter().map(|(_, value)| value.clone());
        let password = url.password().map(Secret::new);
        let secrets = key.into_iter().chain(own).chain(password).collect();
        Self { provider: Arc::clone(&provider.name), origin: origin(url).into(), secrets, clock }
    }

    pub(super) fn head(&self, status: u16, headers: &HeaderMap) -> Head {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let names = ["request-id", "x-request-id", "x-litellm-call-id"];
        Head {
            status,
            request_id: names.into_iter().find_map(text).map(|id| one_line(id, MAX_REQUEST_ID)),
            retry_after: retry_after(text, (self.clock)()),
            elsewhere: text(LOCATION.as_str()).and_then(|to| Some(origin(&Url::parse(to).ok()?))),
        }
    }

    /// A response with an error status.
    pub(super) fn refused(&self, head: &Head, body: &[u8]) -> ModelError {
        let mut fault = error_response::of_status(head.status, body);
        if (300..400).contains(&head.status) {
            let to = head.elsewhere.as_deref().unwrap_or("another address");
            fault.message = format!("redirects to {to}; if that is correct, set it as `base_url`");
        }
        let error = self.error(fault.kind, &fault.message, Some(head));
        ModelError { status: Some(head.status), retry_after: head.retry_after, ..error }
    }

    /// An invalid answer after a successful status.
    pub(super) fn invalid(&self, fault: &DecodeError, head: &Head) -> ModelError {
        self.error(fault.kind, &fault.message, Some(head))
    }

    /// A timeout.
    pub(super) fn timed_out(&self, waited: Duration, head: Option<&Head>) -> ModelError {
        let what = if head.is_some() { "nothing more came" } else { "no answer" };
        let message = format!("{what} from {} for {waited:?}", self.origin);
        self.error(ErrorKind::Timeout, &message, head)
    }

    /// A network error before the response.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        let (kind, what) = if error.is_timeout() {
            (ErrorKind::Timeout, "no connection in time".to_owned())
        } else {
            (ErrorKind::Network, cause(error))
        };
        self.error(kind, &format!("can't reach {}: {what}", self.origin), None)
    }

    /// A network error during the response.
    pub(super) fn broken(&self, error: &reqwest::Error, head: &Head) -> ModelError {
        let message = format!("the answer broke off: {}", cause(error));
        self.error(ErrorKind::BrokenStream, &message, Some(head))
    }

    fn error(&self, kind: ErrorKind, message: &str, head: Option<&Head>) -> ModelError {
        let secrets = || self.secrets.iter().map(Secret::reveal);
        ModelError {
            kind,
            provider: self.provider.to_string(),
            status: None,
            message: mask(message, secrets()),
            retry_after: None,
            // Mask only known secrets: many request ids look like keys.
            request_id: head.and_then(|head| head.request_id.as_deref()).map(|id| without(id, secrets())),
        }
    }
}

/// Scheme, host and port, which contain no secrets.
fn origin(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}", url.scheme())
}

/// The innermost cause; the outer errors only say that something failed.
fn cause(error: &reqwest::Error) -> String {
    let mut reason = error.source();
    let mut words = "the connection failed".to_owned();
    while let Some(inner) = reason {
        words = match inner.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => return "connection refused".to_owned(),
            Some(io::ErrorKind::ConnectionReset) => return "the connection was reset".to_owned(),
            _ => inner.to_string(),
        };
        reason = inner.source();
    }
    one_line(&words, 200)
}
