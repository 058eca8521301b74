//! How much one turn may do before it is ended, so that an agent that goes round in circles stops by itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How much one turn may do. Whichever is reached first ends it.
///
/// ```
/// use foreword_core::limits::TurnLimits;
/// assert_eq!(TurnLimits::default().rounds, 25);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TurnLimits {
    /// How often the model is asked; trying a failed call again does not count.
    pub rounds: u32,
    /// How many tools it may call, in all rounds together.
    pub tool_calls: u32,
    /// How long the turn may take, without the time the owner is waited for.
    pub time: Duration,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { rounds: 25, tool_calls: 100, time: Duration::from_secs(600) }
    }
}
