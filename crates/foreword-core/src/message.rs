//! Messages of a conversation: who said what, at which trust, and where the words came from.

use foreword_prompt::trust::Trust;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, ConversationId, MessageId, TurnId};
use crate::timestamp::Timestamp;
use crate::word::words;

words! {
    /// Who speaks, as the model sees it.
    Role = "role" {
        /// Whoever talks to the agent.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// A tool.
        Tool = "tool",
        /// Foreword itself.
        System = "system",
    }
    /// What a message is in the conversation.
    Kind = "kind of message" {
        /// Something that was said.
        Message = "message",
        /// What stands for an older part of the history.
        Summary = "summary",
        /// Something Foreword tells the conversation, such as a turn that was interrupted.
        Notice = "notice",
        /// What the model was really sent for the messages a turn took up: the turn's context and their words, byte for
        /// byte. For the model it stands in their place; people read the messages themselves.
        Sent = "sent",
    }
    /// Where words came from. What comes from outside is data, whoever passes it on.
    Provenance = "provenance" {
        /// The owner of the workspace.
        Owner = "owner",
        /// A known user.
        User = "user",
        /// Anybody or anything else.
        Outside = "outside",
        /// The agent itself.
        Agent = "agent",
    }
}

/// A piece of a message.
///
/// ```
/// use foreword_core::message::ContentBlock;
/// let block: ContentBlock = serde_json::from_str(r#"{"type":"text","text":"hello"}"#).unwrap();
/// assert_eq!(block, ContentBlock::text("hello"));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
// A block with a field we don't know is not one of ours, however it calls itself: it would lose that field.
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ContentBlock {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// The agent calls a tool.
    ToolCall {
        /// Which call.
        id: CallId,
        /// The tool.
        name: String,
        /// What it is called with.
        input: Value,
    },
    /// What a tool gave back.
    ToolResult {
        /// Which call.
        call: CallId,
        /// What it gave.
        content: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// Anything else a provider sent, kept as it was.
    #[serde(untagged)]
    Other(Value),
}

impl ContentBlock {
    /// Words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// What a call to a model took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read that were in no cache.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    pub cache_write: u64,
    /// How many of those are kept there for an hour.
    #[serde(default)]
    pub cache_write_1h: u64,
    /// The provider did not say what it read from a cache and what it wrote: then the numbers above mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache_unknown: bool,
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
            cache_unknown: self.cache_unknown || other.cache_unknown,
        }
    }
}

/// A message to be added to a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Its id, made by whoever brings it.
    pub id: MessageId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// What is said.
    pub content: Vec<ContentBlock>,
    /// The trust it is written at.
    pub trust: Trust,
    /// Where the words come from.
    pub provenance: Provenance,
    /// The user or sender, by name.
    pub author: Option<String>,
    /// The turn it is part of.
    pub turn: Option<TurnId>,
    /// What it took to write it.
    pub usage: Option<Usage>,
    /// When.
    pub at: Timestamp,
}

impl NewMessage {
    /// Whether somebody said it and no turn has taken it up yet.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.turn.is_none() && self.role == Role::User && self.kind == Kind::Message
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its place in the conversation; later messages have higher numbers, whatever the clock says.
    pub seq: u64,
    /// The message.
    pub message: NewMessage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_nobody_knows_is_kept_as_it_was() {
        for text in [
            r#"{"type":"thinking","thinking":"hm","signature":"x"}"#,
            r#"{"type":"tool_call","id":"c-1","name":"bash","input":{"command":"ls"}}"#,
            r#"{"type":"image","source":{"data":"AAAA"}}"#,
            r#"{"type":"text","text":"as in the source","citations":[{"cited_text":"x"}]}"#,
            r#"{"type":"tool_call","id":"c-1","name":"bash","input":{},"signature":"x"}"#,
            r#"{"type":"text","text":7}"#,
        ] {
            let block: ContentBlock = serde_json::from_str(text).unwrap();
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_value(&block).unwrap(), value);
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for role in [Role::User, Role::Assistant, Role::Tool, Role::System] {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert_eq!("root".parse::<Provenance>().unwrap_err().to_string(), "`root` is no provenance");
    }
}
