//! What a turn is: under way, or how it ended.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::word::UnknownWord;

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnState {
    /// Under way, or waiting to be resumed.
    Running,
    /// It ended.
    Ended(Outcome),
    /// It was cut off and may not be run again; the conversation was told.
    Interrupted,
}

/// How a turn ended that was not cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With an answer.
    Done,
    /// With an error.
    Failed,
    /// Somebody said stop.
    Cancelled,
}

impl TurnState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Running,
        Self::Ended(Outcome::Done),
        Self::Ended(Outcome::Failed),
        Self::Ended(Outcome::Cancelled),
        Self::Interrupted,
    ];

    /// The word it is stored as.
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
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| UnknownWord { what: "state of a turn", word: word.to_owned() })
    }
}
