//! Why a call to a model failed, sorted by what can be done about it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A call that failed. Its text is shown and stored: nothing secret is ever in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{provider}: {message}{}", status_note(*.status))]
pub struct ModelError {
    /// What sort of failure it is.
    pub kind: ErrorKind,
    /// Who was asked, by the name in the configuration.
    pub provider: String,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// What the provider, or the network, said; on one line, and short.
    pub message: String,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
    /// The provider's own name for the request.
    pub request_id: Option<String>,
}

fn status_note(status: Option<u16>) -> String {
    status.map(|status| format!(" (HTTP {status})")).unwrap_or_default()
}

/// What sort of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Too many requests, or too many tokens, for now.
    RateLimited,
    /// The provider is down or has too much to do.
    Unavailable,
    /// Nobody there: the name is unknown, the connection refused or lost before an answer.
    Network,
    /// Silence for too long.
    Timeout,
    /// The answer broke off, or was not what the dialect says.
    BrokenStream,
    /// The request is longer than the model's context.
    ContextTooLong,
    /// The key is missing, wrong or not allowed to do this.
    Authentication,
    /// The provider does not know the model.
    UnknownModel,
    /// The provider refuses the request for another reason.
    BadRequest,
    /// The configuration names no such provider, or not enough about it.
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
