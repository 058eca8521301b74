//! Settings of a conversation as schedules and workflow files state them.

use serde_json::{Map, Value};

/// Settings for the conversation of a schedule or a workflow. What is not stated stays as it is. Whether the values are
/// accepted is checked when they are used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredSettings {
    /// Instructions for this conversation alone.
    pub session_instructions: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// Values for templates.
    pub context: Option<Map<String, Value>>,
}

impl ConfiguredSettings {
    /// Whether nothing is stated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
