//! What went wrong on the way, in words that may be shown: no key, no address with a password, one line.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::model::{ErrorKind, ModelError};
use foreword_core::provider::{Provider, Secret};
use reqwest::Url;
use reqwest::header::{HeaderMap, LOCATION};

use super::Clock;
use crate::dialect::Fault;
use crate::mask::{mask, without};
use crate::refusal::{self, one_line};
use crate::retry_after::retry_after;

/// The most characters of a provider's name for a request.
const MAX_REQUEST_ID: usize = 120;

/// Makes errors of failures.
#[derive(Clone)]
pub(super) struct Reporter {
    provider: Arc<str>,
    /// The address without anything secret.
    place: Arc<str>,
    secrets: Arc<[Secret]>,
    clock: Clock,
}

/// What the head of an answer says about it.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) status: u16,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    /// Where it sends us instead.
    elsewhere: Option<String>,
}

impl Reporter {
    pub(super) fn new(provider: &Provider, key: Option<Secret>, url: &Url, clock: Clock) -> Self {
        let own = provider.headers.iter().map(|(_, value)| value.clone());
        let password = url.password().map(Secret::new);
        let secrets = key.into_iter().chain(own).chain(password).collect();
        Self { provider: Arc::clone(&provider.name), place: place(url).into(), secrets, clock }
    }

    pub(super) fn head(&self, status: u16, headers: &HeaderMap) -> Head {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let names = ["request-id", "x-request-id", "x-litellm-call-id"];
        Head {
            status,
            request_id: names.into_iter().find_map(text).map(|id| one_line(id, MAX_REQUEST_ID)),
            retry_after: retry_after(text, (self.clock)()),
            elsewhere: text(LOCATION.as_str()).and_then(|to| Some(place(&Url::parse(to).ok()?))),
        }
    }

    /// A refusal.
    pub(super) fn refused(&self, head: &Head, body: &[u8]) -> ModelError {
        let mut fault = refusal::of_status(head.status, body);
        if (300..400).contains(&head.status) {
            let to = head.elsewhere.as_deref().unwrap_or("another place");
            fault.message = format!("it sends us to {to}; if that is right, write it into `base_url`");
        }
        let error = self.error(fault.kind, &fault.message, Some(head));
        ModelError { status: Some(head.status), retry_after: head.retry_after, ..error }
    }

    /// An answer that had begun and is wrong.
    pub(super) fn fault(&self, fault: &Fault, head: &Head) -> ModelError {
        self.error(fault.kind, &fault.message, Some(head))
    }

    /// No answer in time.
    pub(super) fn silence(&self, waited: Duration, head: Option<&Head>) -> ModelError {
        let what = if head.is_some() { "nothing more came" } else { "no answer" };
        let message = format!("{what} from {} for {waited:?}", self.place);
        self.error(ErrorKind::Timeout, &message, head)
    }

    /// The network failed before there was an answer.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        let (kind, what) = if error.is_timeout() {
            (ErrorKind::Timeout, "no connection in time".to_owned())
        } else {
            (ErrorKind::Network, cause(error))
        };
        self.error(kind, &format!("can't reach {}: {what}", self.place), None)
    }

    /// The network failed in the middle of an answer.
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
            // A name, so only what is known is looked for: many of them look like keys.
            request_id: head.and_then(|head| head.request_id.as_deref()).map(|id| without(id, secrets())),
        }
    }
}

/// Scheme, host and port: all of an address that is nobody's secret.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}", url.scheme())
}

/// The innermost reason; those around it only say that something failed.
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
