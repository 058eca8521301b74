//! Limits on one turn, so that an agent in a loop stops.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits on one turn. The first limit that is reached ends it.
///
/// ```
/// use foreword_core::limits::TurnLimits;
/// assert_eq!(TurnLimits::default().rounds, 25);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TurnLimits {
    /// The maximum number of model calls; retries do not count.
    pub rounds: u32,
    /// The maximum number of tool calls in all rounds.
    pub tool_calls: u32,
    /// The maximum duration, without the time spent waiting for the owner.
    pub time: Duration,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { rounds: 25, tool_calls: 100, time: Duration::from_secs(600) }
    }
}
