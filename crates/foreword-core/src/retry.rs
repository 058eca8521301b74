//! Whether a failed call to a model is tried again, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
