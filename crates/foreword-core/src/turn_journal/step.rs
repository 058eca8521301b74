//! A step of a turn, and its stored form.

use std::collections::BTreeMap;

use foreword_prompt::text::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, MessageId};
use crate::message::{ContentBlock, Usage};

/// A step of a turn. Stored as JSON with its `kind`; unknown kinds of newer versions are preserved.
///
/// ```
/// use foreword_core::turn_journal::JournalStep;
/// let text = r#"{"kind":"tool_started","call":"c-1","tool":"bash","side_effects":true}"#;
/// let step: JournalStep = serde_json::from_str(text).unwrap();
/// assert_eq!(step.kind(), "tool_started");
/// let newer: JournalStep = serde_json::from_str(r#"{"kind":"dreamt","of":"sheep"}"#).unwrap();
/// assert_eq!(newer.kind(), "dreamt");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JournalStep {
    /// The turn has taken up messages and has to answer them.
    Accepted {
        /// The messages.
        messages: Vec<MessageId>,
    },
    /// The prompt was built.
    PromptBuilt(PromptBuilt),
    /// A model call has ended.
    Call {
        /// The model.
        model: String,
        /// The answer.
        content: Vec<ContentBlock>,
        /// The usage.
        usage: Usage,
    },
    /// A tool call starts.
    ToolStarted {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// Whether it has side effects, so that repeating it is not safe.
        side_effects: bool,
    },
    /// A tool call has ended.
    ToolFinished(ToolResult),
    /// The answer was added to the conversation.
    Replied {
        /// Its messages.
        messages: Vec<MessageId>,
    },
    /// A step that this version does not know.
    #[serde(untagged)]
    Other(Value),
}

/// The prompt of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBuilt {
    /// The fingerprint of its frozen text.
    pub fingerprint: ContentHash,
    /// The number of its epoch.
    pub epoch: u64,
    /// The versions of its mutable layers.
    pub layer_versions: BTreeMap<String, u64>,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub call: CallId,
    /// The output.
    pub content: String,
    /// Whether it failed.
    pub is_error: bool,
}

impl JournalStep {
    /// The kind of the step.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Accepted { .. } => "accepted",
            Self::PromptBuilt(_) => "prompt_built",
            Self::Call { .. } => "call",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolFinished(_) => "tool_finished",
            Self::Replied { .. } => "replied",
            Self::Other(value) => value.get("kind").and_then(Value::as_str).unwrap_or("unknown"),
        }
    }
}
