//! Section `retry`: the retry policy for model calls.

use std::collections::BTreeSet;
use std::time::Duration;

use foreword_core::retry::RetryPolicy;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;

/// The retry policy for model calls.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRetry {
    /// The maximum number of retries. Default: 3.
    #[schemars(with = "Option<u32>")]
    pub max_retries: Option<Spanned<u32>>,
    /// The first delay, in milliseconds; it doubles with each retry. Default: 1,000.
    #[schemars(with = "Option<u64>")]
    pub base_delay_ms: Option<Spanned<u64>>,
    /// The maximum delay, in milliseconds. Default: 30,000.
    #[schemars(with = "Option<u64>")]
    pub max_delay_ms: Option<Spanned<u64>>,
    /// The HTTP status codes that are retried. Default: 429, 500, 502, 503, 529.
    #[schemars(with = "Option<Vec<u16>>")]
    pub retryable_statuses: Option<Vec<Spanned<u64>>>,
    /// The maximum `retry-after` of a provider that is honoured, in milliseconds. Default: 120,000.
    #[schemars(with = "Option<u64>")]
    pub max_retry_after_ms: Option<Spanned<u64>>,
    /// Requeueing of a message after the last retry, if no client is waiting for the answer.
    pub requeue: RawRequeue,
}

/// Requeueing of messages.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRequeue {
    /// The maximum number of attempts. Default: 5; 0 disables requeueing.
    #[schemars(with = "Option<u32>")]
    pub max_attempts: Option<Spanned<u32>>,
    /// The first delay, in milliseconds; it doubles with each attempt. Default: 60,000.
    #[schemars(with = "Option<u64>")]
    pub delay_ms: Option<Spanned<u64>>,
    /// The maximum delay, in milliseconds. Default: 1,800,000.
    #[schemars(with = "Option<u64>")]
    pub max_delay_ms: Option<Spanned<u64>>,
}

const MAX_RETRIES: u32 = 100;

impl ConfigParser<'_> {
    pub(super) fn retry(&mut self, raw: &RawRetry) -> RetryPolicy {
        let default = RetryPolicy::default();
        let (base_delay, max_delay) = self.delays(
            Delay {
                written: raw.base_delay_ms.as_ref(),
                key: "retry.base_delay_ms",
                default: default.base_delay,
            },
            Delay {
                written: raw.max_delay_ms.as_ref(),
                key: "retry.max_delay_ms",
                default: default.max_delay,
            },
        );
        let requeue = &raw.requeue;
        let (requeue_delay, max_requeue_delay) = self.delays(
            Delay {
                written: requeue.delay_ms.as_ref(),
                key: "retry.requeue.delay_ms",
                default: default.requeue_delay,
            },
            Delay {
                written: requeue.max_delay_ms.as_ref(),
                key: "retry.requeue.max_delay_ms",
                default: default.max_requeue_delay,
            },
        );
        let (attempts, times) = (requeue.max_attempts.as_ref(), 0..=MAX_RETRIES);
        RetryPolicy {
            max_retries: self.within(
                raw.max_retries.as_ref(),
                "retry.max_retries",
                times.clone(),
                default.max_retries,
            ),
            base_delay,
            max_delay,
            retryable_statuses: self
                .statuses(raw.retryable_statuses.as_deref())
                .unwrap_or(default.retryable_statuses),
            longest_retry_after: self.milliseconds(
                raw.max_retry_after_ms.as_ref(),
                "retry.max_retry_after_ms",
                default.longest_retry_after,
            ),
            max_requeues: self.within(attempts, "retry.requeue.max_attempts", times, default.max_requeues),
            requeue_delay,
            max_requeue_delay,
        }
    }

    /// An initial and a maximum delay. The initial delay must not exceed the maximum; a default is adjusted to a
    /// written value.
    fn delays(&mut self, initial: Delay<'_>, maximum: Delay<'_>) -> (Duration, Duration) {
        let first = self.milliseconds(initial.written, initial.key, initial.default);
        let longest = self.milliseconds(maximum.written, maximum.key, maximum.default);
        match (initial.written, maximum.written) {
            (Some(written), Some(_)) if first > longest => {
                let message = format!("`{}` is longer than `{}`", initial.key, maximum.key);
                self.refuse(written.defined, message, format!("raise `{}`, or lower this", maximum.key));
                (initial.default, maximum.default)
            }
            (Some(_), None) => (first, longest.max(first)),
            _ => (first.min(longest), longest),
        }
    }

    fn statuses(&mut self, written: Option<&[Spanned<u64>]>) -> Option<BTreeSet<u16>> {
        let mut statuses = BTreeSet::new();
        for status in written? {
            match u16::try_from(status.value) {
                Ok(value @ 400..=599) => {
                    statuses.insert(value);
                }
                _ => self.refuse(
                    status.defined,
                    format!("`{}` is not an HTTP error status", status.value),
                    "use statuses from 400 to 599".to_owned(),
                ),
            }
        }
        Some(statuses)
    }
}

/// A delay in milliseconds, its key, and its default.
struct Delay<'a> {
    written: Option<&'a Spanned<u64>>,
    key: &'static str,
    default: Duration,
}
