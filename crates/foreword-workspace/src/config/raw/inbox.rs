//! Section `inbox` as people write it.

use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// Messages that others leave for the agent.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawInbox {
    /// How far a sender is trusted whom no user's `match` names as `inbox:<sender>`. Default: `public`. Whatever it is, a
    /// turn that answers the inbox has read text from outside, and may do nothing sensitive.
    pub trust: Option<Trust>,
    /// How many seconds are waited for more messages once one has come, so that they are answered together. Default: 2.
    #[schemars(with = "Option<u64>")]
    pub gather_seconds: Option<Spanned<u64>>,
    /// How many messages may wait; more are refused. Default: 20,000.
    #[schemars(with = "Option<u64>")]
    pub max_waiting: Option<Spanned<u64>>,
    /// How many messages of one sender may wait. Default: 50.
    #[schemars(with = "Option<u64>")]
    pub max_waiting_per_sender: Option<Spanned<u64>>,
}
