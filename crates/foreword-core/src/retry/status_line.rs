//! One-line status messages about retries.

use std::time::Duration;

use crate::model::{ErrorKind, ModelError};

/// The status while a call waits for its retry.
///
/// ```
/// use std::time::Duration;
/// use foreword_core::model::{ErrorKind, ModelError};
/// use foreword_core::retry::status_line;
///
/// let error = ModelError {
///     kind: ErrorKind::RateLimited, provider: "anthropic".into(), status: Some(429),
///     message: "slow down".into(), retry_after: None, request_id: None,
/// };
/// assert_eq!(status_line(&error, Duration::from_millis(2_300)), "Rate limited. Retrying in 3s...");
/// ```
#[must_use]
pub fn status_line(error: &ModelError, delay: Duration) -> String {
    format!("{}. Retrying in {}s...", what_happened(error), seconds_rounded_up(delay))
}

/// The status of a requeued message.
#[must_use]
pub fn requeue_line(error: &ModelError, delay: Duration) -> String {
    format!("{}. Queued; next attempt in {}s.", what_happened(error), seconds_rounded_up(delay))
}

fn what_happened(error: &ModelError) -> &'static str {
    match (error.kind, error.status) {
        (ErrorKind::RateLimited, _) | (_, Some(429)) => "Rate limited",
        (ErrorKind::Unavailable, Some(529)) => "Provider overloaded",
        (ErrorKind::Unavailable, _) => "Provider unavailable",
        (ErrorKind::Network, _) => "Network error",
        (ErrorKind::Timeout, _) => "No answer in time",
        (ErrorKind::BrokenStream, _) => "The answer broke off",
        (ErrorKind::ContextTooLong, _) => "The conversation is too long for the model",
        (ErrorKind::Authentication, _) => "Not authorised",
        (ErrorKind::UnknownModel, _) => "Unknown model",
        (ErrorKind::BadRequest, _) => "Request refused",
        (ErrorKind::NotConfigured, _) => "Not configured",
    }
}

fn seconds_rounded_up(delay: Duration) -> u64 {
    delay.as_secs().saturating_add(u64::from(delay.subsec_nanos() > 0))
}
