//! Messages that a turn adds to a conversation: answers, tool calls, tool results and notices.

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::message::{ContentBlock, Kind, Provenance, Role, Usage};

/// A message that a turn has added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnMessage {
    /// The author's role.
    pub role: Role,
    /// The content.
    pub content: Vec<ContentBlock>,
    /// Whether it contains text from outside.
    pub from_outside: bool,
    /// The usage of the model call that wrote it.
    pub usage: Option<Usage>,
}

impl TurnMessage {
    pub(super) fn by_agent(content: Vec<ContentBlock>, usage: Option<Usage>) -> Self {
        Self { role: Role::Assistant, content, from_outside: false, usage }
    }

    pub(super) fn by_tools(content: Vec<ContentBlock>, from_outside: bool) -> Self {
        Self { role: Role::Tool, content, from_outside, usage: None }
    }

    /// A notice by Foreword, for the model and for people.
    pub(super) fn notice(text: impl Into<String>) -> Self {
        let content = vec![ContentBlock::text(text)];
        Self { role: Role::System, content, from_outside: false, usage: None }
    }

    /// The kind of message.
    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.role == Role::System { Kind::Notice } else { Kind::Message }
    }

    /// Where the text comes from.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        if self.from_outside { Provenance::Outside } else { Provenance::Agent }
    }
}

/// The text of the agent's messages.
pub(super) fn text(messages: &[TurnMessage]) -> String {
    let by_agent = messages.iter().filter(|message| message.role == Role::Assistant);
    ContentBlock::joined_text(by_agent.flat_map(|message| &message.content))
}

/// A tool result block.
pub(super) fn result(call: &CallId, content: impl Into<String>, is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult { call: call.clone(), content: content.into(), is_error }
}
