//! How failed calls are tried again.

use std::collections::BTreeSet;
use std::time::Duration;

use foreword_core::retry::RetryPolicy;
use serde_saphyr::{Location, Spanned};

use super::Reader;
use crate::config::raw::RawRetry;

const MOST_RETRIES: u32 = 100;

impl Reader<'_> {
    pub(super) fn retry(&mut self, raw: &RawRetry) -> RetryPolicy {
        let default = RetryPolicy::default();
        let (base_delay, max_delay) = self.delays(
            (raw.base_delay_ms.as_ref(), "retry.base_delay_ms", default.base_delay),
            (raw.max_delay_ms.as_ref(), "retry.max_delay_ms", default.max_delay),
        );
        let requeue = &raw.requeue;
        let (requeue_delay, max_requeue_delay) = self.delays(
            (requeue.delay_ms.as_ref(), "retry.requeue.delay_ms", default.requeue_delay),
            (requeue.max_delay_ms.as_ref(), "retry.requeue.max_delay_ms", default.max_requeue_delay),
        );
        let (attempts, times) = (requeue.max_attempts.as_ref(), 0..=MOST_RETRIES);
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

    /// A first and a longest delay, of which the first must not be the longer one. What is not written gives way to
    /// what is.
    fn delays(&mut self, first: WrittenDelay<'_>, longest: WrittenDelay<'_>) -> (Duration, Duration) {
        let (first_written, longest_written) = (first.0.is_some(), longest.0.is_some());
        let one = self.milliseconds(first.0, first.1, first.2);
        let most = self.milliseconds(longest.0, longest.1, longest.2);
        match (first_written, longest_written) {
            (true, true) if one > most => {
                let at = first.0.map_or(Location::UNKNOWN, |written| written.defined);
                let message = format!("`{}` is longer than `{}`", first.1, longest.1);
                self.refuse(at, message, format!("raise `{}`, or lower this", longest.1));
                (first.2, longest.2)
            }
            (true, false) => (one, most.max(one)),
            _ => (one.min(most), most),
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
                    format!("`{}` is no HTTP status of a failure", status.value),
                    "use statuses from 400 to 599".to_owned(),
                ),
            }
        }
        Some(statuses)
    }
}

/// A delay as written, its key, and its default.
type WrittenDelay<'a> = (Option<&'a Spanned<u64>>, &'static str, Duration);
