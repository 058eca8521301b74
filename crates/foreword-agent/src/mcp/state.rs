//! How a server is, as a value that people and programs can read.

use foreword_core::timestamp::Timestamp;
use serde::Serialize;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ServerState {
    /// It is being started for the first time.
    Starting,
    /// It can be called.
    Ready,
    /// It can't, and is started again after a while.
    Failing {
        /// What was wrong, on one line.
        why: String,
        /// Since when.
        since: Timestamp,
        /// When it is started next.
        next_try: Timestamp,
    },
    /// It has been told to end.
    Stopped,
}

/// All there is to say about a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// How it is.
    #[serde(flatten)]
    pub state: ServerState,
    /// What it says it is: name and version, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The names of the tools that were taken in, last time it said what it offers.
    pub tools: Vec<String>,
    /// What was left out of its offers, and why.
    pub warnings: Vec<String>,
    /// The last lines it wrote to its standard error.
    pub last_words: Vec<String>,
}
