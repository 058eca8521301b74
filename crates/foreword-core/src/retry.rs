//! Decides whether and when a failed model call is retried: exponential backoff with jitter. The caller waits, compacts
//! or reports, and passes in the jitter.

mod status_line;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::backoff::Backoff;
use crate::model::{ErrorKind, ModelError};
use crate::string_enum::string_enum;

pub use status_line::{requeue_line, status_line};

/// How often and how soon a failed call is retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// The maximum number of retries while a user waits.
    pub max_retries: u32,
    /// The first delay; it doubles with each retry.
    pub base_delay: Duration,
    /// The maximum delay.
    pub max_delay: Duration,
    /// The HTTP statuses that are retried.
    pub retryable_statuses: BTreeSet<u16>,
    /// The maximum accepted `retry-after`; a longer one is reduced to this and reported.
    pub longest_retry_after: Duration,
    /// How often a message is requeued after its retries are used up, if no user waits.
    pub max_requeues: u32,
    /// The first requeue delay; it doubles each time.
    pub requeue_delay: Duration,
    /// The maximum requeue delay.
    pub max_requeue_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            retryable_statuses: [429, 500, 502, 503, 529].into(),
            longest_retry_after: Duration::from_secs(120),
            max_requeues: 5,
            requeue_delay: Duration::from_secs(60),
            max_requeue_delay: Duration::from_secs(1_800),
        }
    }
}

/// What to do about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Wait, then retry.
    Again {
        /// The delay.
        delay: Duration,
        /// The provider's `retry-after`, if it was longer than the delay.
        asked: Option<Duration>,
    },
    /// Compact the conversation, then retry.
    Compact,
    /// Fail the turn.
    GiveUp {
        /// The category of the error.
        category: ErrorCategory,
    },
}

string_enum! {
    /// The category of an error, by its source and handling.
    ErrorCategory = "error category" {
        /// A temporary provider error, which is retried.
        ProviderTransient = "provider_transient",
        /// A permanent provider error.
        ProviderPermanent = "provider_permanent",
        /// A tool failed; the model decides how to continue.
        ToolFailure = "tool_failure",
        /// The configuration has to be changed.
        ConfigError = "config_error",
        /// A time or call limit of the turn was reached.
        Limit = "limit",
        /// An error in Foreword.
        InternalError = "internal_error",
    }
}

/// A gateway timeout. It is retried like a network timeout, whether it is listed or not.
const GATEWAY_TIMEOUT: u16 = 504;

/// Statuses that are never retried, even if listed.
const NEVER_RETRIED: [u16; 2] = [400, 401];

impl RetryPolicy {
    /// What to do about `error`. `attempt` is the number of retries so far, 0 after the first failure. `chance`,
    /// between 0 and 1, is the jitter.
    ///
    /// ```
    /// use std::time::Duration;
    /// use foreword_core::model::{ErrorKind, ModelError};
    /// use foreword_core::retry::{ErrorCategory, RetryDecision, RetryPolicy};
    ///
    /// let policy = RetryPolicy::default();
    /// let mut error = ModelError {
    ///     kind: ErrorKind::RateLimited, provider: "anthropic".into(), status: Some(429),
    ///     message: "slow down".into(), retry_after: None, request_id: None,
    /// };
    /// let again = |seconds| RetryDecision::Again { delay: Duration::from_secs(seconds), asked: None };
    /// assert_eq!(policy.decide(&error, 1, 1.0), again(2));
    /// error.retry_after = Some(Duration::from_secs(7));
    /// assert_eq!(policy.decide(&error, 1, 1.0), again(7));
    /// assert_eq!(policy.decide(&error, 3, 1.0), RetryDecision::GiveUp { category: ErrorCategory::ProviderTransient });
    /// ```
    #[must_use]
    pub fn decide(&self, error: &ModelError, attempt: u32, chance: f64) -> RetryDecision {
        if error.kind == ErrorKind::ContextTooLong {
            return RetryDecision::Compact;
        }
        let category = self.category(error);
        if category != ErrorCategory::ProviderTransient || attempt >= self.max_retries {
            return RetryDecision::GiveUp { category };
        }
        match error.retry_after {
            Some(asked) if asked > self.longest_retry_after => {
                RetryDecision::Again { delay: self.longest_retry_after, asked: Some(asked) }
            }
            Some(asked) => RetryDecision::Again { delay: asked, asked: None },
            None => RetryDecision::Again { delay: self.delay(attempt, chance), asked: None },
        }
    }

    /// The category of `error`, regardless of the number of attempts.
    #[must_use]
    pub fn category(&self, error: &ModelError) -> ErrorCategory {
        if error.kind == ErrorKind::NotConfigured {
            ErrorCategory::ConfigError
        } else if self.is_transient(error) {
            ErrorCategory::ProviderTransient
        } else {
            ErrorCategory::ProviderPermanent
        }
    }

    /// The requeue delay of a message that was requeued `times_before` times; `None` if that was the maximum.
    #[must_use]
    pub fn requeue(&self, times_before: u32) -> Option<Duration> {
        let backoff = Backoff { first: self.requeue_delay, max: self.max_requeue_delay };
        (times_before < self.max_requeues).then(|| backoff.delay(times_before.saturating_add(1)))
    }

    /// Whether the same request may succeed later.
    fn is_transient(&self, error: &ModelError) -> bool {
        match error.kind {
            ErrorKind::ContextTooLong
            | ErrorKind::Authentication
            | ErrorKind::UnknownModel
            | ErrorKind::NotConfigured => return false,
            ErrorKind::RateLimited
            | ErrorKind::Unavailable
            | ErrorKind::Network
            | ErrorKind::Timeout
            | ErrorKind::BrokenStream
            | ErrorKind::BadRequest => {}
        }
        match error.status {
            Some(status) if status >= 400 => {
                let listed = self.retryable_statuses.contains(&status) && !NEVER_RETRIED.contains(&status);
                listed || status == GATEWAY_TIMEOUT
            }
            // There was no response, or an error after a successful start.
            _ => error.kind != ErrorKind::BadRequest,
        }
    }

    /// The delay before the next retry after `attempt` retries: exponential backoff with jitter.
    #[must_use]
    pub fn delay(&self, attempt: u32, chance: f64) -> Duration {
        self.backoff().jittered_delay(attempt.saturating_add(1), chance)
    }

    /// The delays between retries.
    #[must_use]
    pub const fn backoff(&self) -> Backoff {
        Backoff { first: self.base_delay, max: self.max_delay }
    }
}

#[cfg(test)]
mod tests;
