//! Where an agent that looks after itself learns how it stands.

use std::time::Duration;

use foreword_core::budget::Budget;

/// Where the agent's state comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateSource {
    /// A JSON or YAML mapping below the workspace.
    File(String),
    /// What a program prints, as such a mapping.
    Command {
        /// The program and what it is given.
        words: Vec<String>,
        /// How long it may take.
        timeout: Duration,
    },
    /// What calls to models have cost, against a budget.
    Budget(Budget),
}
