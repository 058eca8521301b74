//! Section `retry` as people write it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// How failed calls to a model are tried again.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRetry {
    /// How often a call is tried again. Default: 3.
    #[schemars(with = "Option<u32>")]
    pub max_retries: Option<Spanned<u32>>,
    /// The first delay, in milliseconds; each time twice as long. Default: 1,000.
    #[schemars(with = "Option<u64>")]
    pub base_delay_ms: Option<Spanned<u64>>,
    /// The longest delay, in milliseconds. Default: 30,000.
    #[schemars(with = "Option<u64>")]
    pub max_delay_ms: Option<Spanned<u64>>,
    /// The HTTP statuses that are worth another try. Default: 429, 500, 502, 503, 529.
    #[schemars(with = "Option<Vec<u16>>")]
    pub retryable_statuses: Option<Vec<Spanned<u64>>>,
    /// The longest a provider's `retry-after` is obeyed, in milliseconds. Default: 120,000.
    #[schemars(with = "Option<u64>")]
    pub max_retry_after_ms: Option<Spanned<u64>>,
    /// What becomes of a message that nobody waits for at a screen, once the retries are used up.
    pub requeue: RawRequeue,
}

/// How often a message goes back into its queue, and for how long.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRequeue {
    /// How often. Default: 5; 0 means never.
    #[schemars(with = "Option<u32>")]
    pub max_attempts: Option<Spanned<u32>>,
    /// How long it stays there the first time, in milliseconds; each time twice as long. Default: 60,000.
    #[schemars(with = "Option<u64>")]
    pub delay_ms: Option<Spanned<u64>>,
    /// The longest it stays there, in milliseconds. Default: 1,800,000.
    #[schemars(with = "Option<u64>")]
    pub max_delay_ms: Option<Spanned<u64>>,
}
