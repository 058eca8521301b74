//! Errors of model calls, by how to handle them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A failed model call. The text is shown and stored, so it must not contain secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{provider}: {message}{}", status_note(*.status))]
pub struct ModelError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The provider's name in the configuration.
    pub provider: String,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The message of the provider or the network, on one short line.
    pub message: String,
    /// The provider's `retry-after`.
    pub retry_after: Option<Duration>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
}

fn status_note(status: Option<u16>) -> String {
    status.map(|status| format!(" (HTTP {status})")).unwrap_or_default()
}

/// The kind of a model error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Rate limit on requests or tokens.
    RateLimited,
    /// The provider is down or overloaded.
    Unavailable,
    /// Unknown host, or the connection was refused or lost before a response.
    Network,
    /// The provider did not respond in time.
    Timeout,
    /// The stream broke off, or did not follow the dialect.
    BrokenStream,
    /// The request exceeds the model's context window.
    ContextTooLong,
    /// The API key is missing, wrong or lacks permission.
    Authentication,
    /// The provider does not know the model.
    UnknownModel,
    /// The provider rejected the request for another reason.
    BadRequest,
    /// The provider is not configured, or not completely.
    NotConfigured,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RateLimited => "rate limited",
            Self::Unavailable => "provider unavailable",
            Self::Network => "network error",
            Self::Timeout => "no answer in time",
            Self::BrokenStream => "the answer broke off",
            Self::ContextTooLong => "the conversation is too long for the model",
            Self::Authentication => "not authorised",
            Self::UnknownModel => "unknown model",
            Self::BadRequest => "request refused",
            Self::NotConfigured => "not configured",
        })
    }
}
