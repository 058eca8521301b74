//! One step of a turn, and its stored form.

use std::collections::BTreeMap;

use foreword_prompt::text::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, MessageId};
use crate::message::{ContentBlock, Usage};

/// Something a turn has done. Stored as JSON with its `kind`; a kind that only a newer Foreword knows is kept as it is.
///
/// ```
/// use foreword_core::turn_journal::Step;
/// let text = r#"{"kind":"tool_started","call":"c-1","tool":"bash","side_effects":true}"#;
/// let step: Step = serde_json::from_str(text).unwrap();
/// assert_eq!(step.kind(), "tool_started");
/// let newer: Step = serde_json::from_str(r#"{"kind":"dreamt","of":"sheep"}"#).unwrap();
/// assert_eq!(newer.kind(), "dreamt");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Step {
    /// The turn has taken up messages, and owes them an answer.
    Accepted {
        /// Which.
        messages: Vec<MessageId>,
    },
    /// The prompt is made.
    PromptBuilt(PromptBuilt),
    /// A model was called and has answered.
    Call {
        /// Which model.
        model: String,
        /// What it said.
        content: Vec<ContentBlock>,
        /// What it took.
        usage: Usage,
    },
    /// A tool is about to be called.
    ToolStarted {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// Whether it changes something in the world, so that calling it again is not the same as calling it once.
        side_effects: bool,
    },
    /// A tool has ended.
    ToolFinished(ToolResult),
    /// The answer is in the conversation.
    Replied {
        /// The messages it consists of.
        messages: Vec<MessageId>,
    },
    /// What this version does not know.
    #[serde(untagged)]
    Other(Value),
}

/// Which prompt a turn was run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBuilt {
    /// The fingerprint of its frozen text.
    pub fingerprint: ContentHash,
    /// The number of its epoch.
    pub epoch: u64,
    /// The versions of the mutable layers in it, by layer.
    pub layer_versions: BTreeMap<String, u64>,
}

/// What a call of a tool gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Which call.
    pub call: CallId,
    /// What it gave.
    pub content: String,
    /// Whether it failed.
    pub is_error: bool,
}

impl Step {
    /// The word for what was done.
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
