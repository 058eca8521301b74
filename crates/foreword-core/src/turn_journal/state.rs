//! The state of a turn.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::string_enum::UnknownValue;

/// The state of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnState {
    /// Running, or waiting to be resumed.
    Running,
    /// Ended.
    Ended(Outcome),
    /// Interrupted and not resumable; the conversation has a notice.
    Interrupted,
}

/// How a turn ended that was not interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With an answer.
    Done,
    /// With an error.
    Failed,
    /// Cancelled by a user.
    Cancelled,
}

impl TurnState {
    /// All states.
    pub const ALL: [Self; 5] = [
        Self::Running,
        Self::Ended(Outcome::Done),
        Self::Ended(Outcome::Failed),
        Self::Ended(Outcome::Cancelled),
        Self::Interrupted,
    ];

    /// The stored value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended(Outcome::Done) => "done",
            Self::Ended(Outcome::Failed) => "failed",
            Self::Ended(Outcome::Cancelled) => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for TurnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TurnState {
    type Err = UnknownValue;

    fn from_str(word: &str) -> Result<Self, UnknownValue> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| UnknownValue { what: "turn state", word: word.to_owned() })
    }
}
