//! What holds for messages that others leave for the agent.

use std::time::Duration;

use foreword_prompt::trust::Trust;

/// What holds for messages that others leave for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxConfig {
    /// How far whoever is not known is trusted.
    pub trust: Trust,
    /// How long is waited for more messages once one has come, so that they are answered together.
    pub gather: Duration,
    /// How many messages may wait.
    pub max_waiting: u64,
    /// How many of one sender.
    pub max_waiting_per_sender: u64,
}

impl Default for InboxConfig {
    fn default() -> Self {
        Self {
            trust: Trust::Public,
            gather: Duration::from_secs(2),
            max_waiting: 20_000,
            max_waiting_per_sender: 50,
        }
    }
}
