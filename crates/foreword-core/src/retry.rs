//! Whether a failed call to a model is tried again, and when. Decides only: whoever calls waits, compacts or reports, and
//! brings the chance.

mod status_line;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{ErrorKind, ModelError};
use crate::word::words;

pub use status_line::{requeue_line, status_line};

/// How often and how soon to try again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// How often a call is tried again while somebody waits for it.
    pub max_retries: u32,
    /// The first delay; each time twice as long.
    pub base_delay: Duration,
    /// The longest delay.
    pub max_delay: Duration,
    /// The HTTP statuses that are worth another try.
    pub retryable_statuses: BTreeSet<u16>,
    /// The longest a provider's own `retry-after` is obeyed; a longer wish is cut to this, and that is reported.
    pub longest_retry_after: Duration,
    /// How often a message that nobody waits for at a screen goes back into its queue once the retries are used up.
    pub max_requeues: u32,
    /// How long it stays there the first time; each time twice as long.
    pub requeue_delay: Duration,
    /// And at most.
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

/// What to do about a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Wait, and call again.
    Again {
        /// How long to wait.
        delay: Duration,
        /// What the provider asked for, if that is longer than it is waited for.
        asked: Option<Duration>,
    },
    /// Make the conversation shorter, and call again.
    Compact,
    /// Say so.
    GiveUp {
        /// What sort of error it is then.
        category: ErrorCategory,
    },
}

words! {
    /// Errors by where they come from and what people are told of them.
    ErrorCategory = "category of errors" {
        /// The provider, for now: worth another try.
        ProviderTransient = "provider_transient",
        /// The provider, and it will say the same again.
        ProviderPermanent = "provider_permanent",
        /// A tool: the model is told, and decides.
        ToolFailure = "tool_failure",
        /// The configuration: somebody has to change it.
        ConfigError = "config_error",
        /// The turn took too long or did too much.
        Limit = "limit",
        /// Foreword itself.
        InternalError = "internal_error",
    }
}

/// A gateway's timeout. The model did not answer, so it is retried like a network timeout, listed or not.
const GATEWAY_TIMEOUT: u16 = 504;

/// Statuses that mean the same however often one asks, whoever put them on a list.
const NEVER_RETRIED: [u16; 2] = [400, 401];

impl RetryPolicy {
    /// What to do about `error`. `attempt` is how often the call has been tried again before, 0 after the first failure;
    /// `chance`, between 0 and 1, spreads those who failed together.
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

    /// What sort of error it is, however often the call was tried.
    #[must_use]
    pub fn category(&self, error: &ModelError) -> ErrorCategory {
        if error.kind == ErrorKind::NotConfigured {
            ErrorCategory::ConfigError
        } else if self.may_pass(error) {
            ErrorCategory::ProviderTransient
        } else {
            ErrorCategory::ProviderPermanent
        }
    }

    /// How long a message that nobody waits for at a screen stays in its queue, if it has been put back `times_before`
    /// times already; `None` once that is often enough.
    #[must_use]
    pub fn requeue(&self, times_before: u32) -> Option<Duration> {
        let delay = doubled(self.requeue_delay, times_before).min(self.max_requeue_delay);
        (times_before < self.max_requeues).then_some(delay)
    }

    /// Whether the same request may have another answer later.
    fn may_pass(&self, error: &ModelError) -> bool {
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
            // There was no answer, or one that began well: what went wrong came later.
            _ => error.kind != ErrorKind::BadRequest,
        }
    }

    /// How long to wait before the next try, if `attempt` tries were made again before: twice as long each time, and less
    /// by chance.
    #[must_use]
    pub fn delay(&self, attempt: u32, chance: f64) -> Duration {
        let longest = doubled(self.base_delay, attempt).min(self.max_delay);
        let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 1.0 };
        // In halves, because a float can't hold the longest duration there is.
        let half = longest / 2;
        half.saturating_add(half.mul_f64(chance)).min(longest)
    }
}

/// `delay` twice as long, `times` times.
fn doubled(delay: Duration, times: u32) -> Duration {
    // More often than that even a nanosecond becomes the longest duration there is.
    const ENOUGH: u32 = 96;
    (0..times.min(ENOUGH)).fold(delay, |delay, _| delay.saturating_mul(2))
}

#[cfg(test)]
mod tests;
