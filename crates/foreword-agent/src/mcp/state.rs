//! The status of an MCP server.

use foreword_core::timestamp::Timestamp;
use serde::Serialize;

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ServerState {
    /// It is being started for the first time.
    Starting,
    /// It can be called.
    Ready,
    /// It is unavailable and will be restarted.
    Failing {
        /// The reason, on one line.
        why: String,
        /// Since when.
        since: Timestamp,
        /// The time of the next start.
        next_try: Timestamp,
    },
    /// It was stopped.
    Stopped,
}

/// The status of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerReport {
    pub name: String,
    #[serde(flatten)]
    pub state: ServerState,
    /// The server's name and version, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The names of its accepted tools, as last listed.
    pub tools: Vec<String>,
    /// The tools that were left out, and why.
    pub warnings: Vec<String>,
    /// The last lines of its standard error.
    pub last_words: Vec<String>,
}
