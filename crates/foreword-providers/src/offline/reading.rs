//! Where a request stands: what was last said, and what has been done about it since. Decides nothing.

use std::collections::BTreeMap;

use foreword_core::message::ContentBlock;
use foreword_core::model::{ModelRequest, RequestMessage, RequestRole};
use serde_json::Value;

use super::own_words::UserMessage;

/// What an introduction always says; found again, it need not be said twice.
pub(super) const DISCLAIMER: &str = "not a language model";

/// Where a request stands.
pub(super) struct Reading<'r> {
    pub(super) request: &'r ModelRequest,
    /// The last message of a user.
    pub(super) asked: UserMessage,
    /// How many rounds of results have come since.
    pub(super) rounds: usize,
    /// The results themselves.
    pub(super) outcomes: Vec<Outcome<'r>>,
    /// The words of an answer that broke off and is to be gone on with.
    pub(super) begun: String,
    /// Whether this conversation has been told what answers it.
    pub(super) introduced: bool,
}

/// What came of a call.
pub(super) struct Outcome<'r> {
    pub(super) name: &'r str,
    pub(super) text: &'r str,
    pub(super) is_error: bool,
}

impl<'r> Reading<'r> {
    pub(super) fn of(request: &'r ModelRequest) -> Self {
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

    /// Whether the request offers a tool of this name.
    pub(super) fn offers(&self, name: &str) -> bool {
        self.request.tools.iter().any(|tool| tool.name == name)
    }
}

/// Whether somebody asks something with a message. What Foreword itself says about a turn that broke off, in square
/// brackets, is no question.
pub(super) fn asks(message: &RequestMessage) -> bool {
    let mut texts = texts(message);
    let notice = texts.next().is_some_and(|text| text.starts_with("[The connection broke here"));
    message.role == RequestRole::User && !(notice && texts.next().is_none())
}

/// The texts of a message.
pub(super) fn texts(message: &RequestMessage) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    })
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
            // What is left of results that are withheld.
            ContentBlock::Text { text } if role == RequestRole::Tool => {
                Some(Outcome { name: "a tool", text, is_error: false })
            }
            _ => None,
        })
        .collect()
}

/// Only words: an answer that called tools is over.
fn begun(since: &[RequestMessage]) -> String {
    let called = |message: &RequestMessage| {
        message.content.iter().any(|block| matches!(block, ContentBlock::ToolCall { .. }))
    };
    // An answer may have broken off more than once; only what followed the last results belongs together.
    let broken =
        since.iter().rev().take_while(|message| message.role != RequestRole::Tool && !called(message));
    let mut pieces: Vec<String> = broken
        .filter(|message| message.role == RequestRole::Assistant)
        .map(|message| texts(message).collect())
        .collect();
    pieces.reverse();
    pieces.concat()
}

/// A part of a request as text, for counting and comparing.
pub(super) fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::ToolCall { name, input, .. } => format!("{name} {input}"),
        ContentBlock::ToolResult { content, .. } => content.clone(),
        ContentBlock::Other(value) => Value::to_string(value),
    }
}
