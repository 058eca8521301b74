//! The state of a request: the last user message and the tool results since.

use std::collections::BTreeMap;

use foreword_core::message::ContentBlock;
use foreword_core::model::{ModelRequest, RequestMessage, RequestRole};
use serde_json::Value;

use crate::user_message::UserMessage;

/// Part of every introduction, used to detect whether one was sent.
pub(crate) const DISCLAIMER: &str = "not a language model";

/// The state of a request.
pub(crate) struct RequestState<'r> {
    pub(crate) request: &'r ModelRequest,
    /// The last user message.
    pub(crate) asked: UserMessage,
    /// The number of tool result messages since.
    pub(crate) rounds: usize,
    /// The tool results since.
    pub(crate) outcomes: Vec<Outcome<'r>>,
    /// The text of an answer that broke off and must be continued.
    pub(crate) begun: String,
    /// Whether the conversation contains an introduction.
    pub(crate) introduced: bool,
}

/// The result of a tool call.
pub(crate) struct Outcome<'r> {
    pub(crate) name: &'r str,
    pub(crate) text: &'r str,
    pub(crate) is_error: bool,
}

impl<'r> RequestState<'r> {
    pub(crate) fn of(request: &'r ModelRequest) -> Self {
        let messages = &request.messages;
        let last = messages.iter().rposition(asks);
        let since = last.map_or(&messages[..], |at| &messages[at + 1..]);
        Self {
            request,
            asked: last.map(|at| UserMessage::of(&messages[at])).unwrap_or_default(),
            rounds: since.iter().filter(|message| message.role == RequestRole::Tool).count(),
            outcomes: outcomes(since),
            begun: begun(since),
            introduced: messages.iter().any(|message| {
                message.role == RequestRole::Assistant && texts(message).any(|text| text.contains(DISCLAIMER))
            }),
        }
    }

    /// Whether the request offers this tool.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.request.tools.iter().any(|tool| tool.name == name)
    }
}

/// Whether a message is a user message. Foreword's own notice about a broken stream, in square brackets, is not.
pub(crate) fn asks(message: &RequestMessage) -> bool {
    let mut texts = texts(message);
    let notice = texts.next().is_some_and(|text| text.starts_with("[The connection broke here"));
    message.role == RequestRole::User && !(notice && texts.next().is_none())
}

/// The texts of a message.
pub(crate) fn texts(message: &RequestMessage) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(ContentBlock::as_text)
}

fn outcomes(since: &[RequestMessage]) -> Vec<Outcome<'_>> {
    let blocks =
        || since.iter().flat_map(|message| message.content.iter().map(move |block| (message.role, block)));
    let calls: BTreeMap<&str, &str> = blocks()
        .filter_map(|(_, block)| match block {
            ContentBlock::ToolCall { id, name, .. } => Some((id.as_str(), name.as_str())),
            _ => None,
        })
        .collect();
    let named = |id: &str| calls.get(id).copied().unwrap_or("a tool");
    blocks()
        .filter_map(|(role, block)| match block {
            ContentBlock::ToolResult { call, content, is_error } => {
                Some(Outcome { name: named(call.as_str()), text: content, is_error: *is_error })
            }
            // The placeholder of withheld results.
            ContentBlock::Text { text } if role == RequestRole::Tool => {
                Some(Outcome { name: "a tool", text, is_error: false })
            }
            _ => None,
        })
        .collect()
}

/// The text of an interrupted answer. An answer with tool calls is complete.
fn begun(since: &[RequestMessage]) -> String {
    let called = |message: &RequestMessage| {
        message.content.iter().any(|block| matches!(block, ContentBlock::ToolCall { .. }))
    };
    // The stream may have broken off several times; take only the parts after the last results.
    let broken =
        since.iter().rev().take_while(|message| message.role != RequestRole::Tool && !called(message));
    let mut pieces: Vec<String> = broken
        .filter(|message| message.role == RequestRole::Assistant)
        .map(|message| texts(message).collect())
        .collect();
    pieces.reverse();
    pieces.concat()
}

/// The text of a block, for counting and comparing.
pub(crate) fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::ToolCall { name, input, .. } => format!("{name} {input}"),
        ContentBlock::ToolResult { content, .. } => content.clone(),
        ContentBlock::Other(value) => Value::to_string(value),
    }
}
