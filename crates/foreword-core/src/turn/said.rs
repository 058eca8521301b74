//! What a turn adds to a conversation: the agent's words and calls, the results of tools, and notices about the turn.

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::message::{ContentBlock, Kind, Provenance, Role, Usage};

/// Something a turn has added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Vec<ContentBlock>,
    /// Whether words in it come from outside.
    pub from_outside: bool,
    /// What it took to write it.
    pub usage: Option<Usage>,
}

impl Said {
    pub(super) fn by_agent(content: Vec<ContentBlock>, usage: Option<Usage>) -> Self {
        Self { role: Role::Assistant, content, from_outside: false, usage }
    }

    pub(super) fn by_tools(content: Vec<ContentBlock>, from_outside: bool) -> Self {
        Self { role: Role::Tool, content, from_outside, usage: None }
    }

    /// Foreword itself, to the model as much as to people.
    pub(super) fn notice(text: impl Into<String>) -> Self {
        let content = vec![ContentBlock::text(text)];
        Self { role: Role::System, content, from_outside: false, usage: None }
    }

    /// What it is in the conversation.
    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.role == Role::System { Kind::Notice } else { Kind::Message }
    }

    /// Where its words come from.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        if self.from_outside { Provenance::Outside } else { Provenance::Agent }
    }
}

/// The words the agent has said.
pub(super) fn words(said: &[Said]) -> String {
    let spoken = said.iter().filter(|said| said.role == Role::Assistant).flat_map(|said| &said.content);
    let texts = spoken.filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The result of a call.
pub(super) fn result(call: &CallId, content: impl Into<String>, is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult { call: call.clone(), content: content.into(), is_error }
}
