//! How one message reads to a model. Knows nothing of its neighbours.

use foreword_prompt::untrusted::{plain_words, spoken};

use super::is_told;
use crate::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use crate::model::{RequestMessage, RequestRole};

/// The message as a model reads it, or nothing if nothing of it can be read.
pub(super) fn worded(message: &Message) -> Option<RequestMessage> {
    let message = &message.message;
    let (role, content) = match (message.kind, message.role) {
        (Kind::Summary, _) => (RequestRole::User, texts(message, plain_words)),
        (Kind::Notice, _) | (Kind::Message, Role::System) => (RequestRole::User, texts(message, in_brackets)),
        (Kind::Sent, _) => (RequestRole::User, kept(message, is_for_a_user)),
        (Kind::Message, Role::User) => (RequestRole::User, as_it_came(message)),
        (Kind::Message, Role::Assistant) => (RequestRole::Assistant, kept(message, is_for_an_assistant)),
        (Kind::Message, Role::Tool) => (RequestRole::Tool, kept(message, is_for_a_tool)),
    };
    (!content.is_empty()).then_some(RequestMessage { role, content })
}

fn kept(message: &NewMessage, belongs: fn(&ContentBlock) -> bool) -> Vec<ContentBlock> {
    message.content.iter().filter(|block| belongs(block)).cloned().collect()
}

fn is_for_a_user(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text { text } => !is_blank(text),
        ContentBlock::Other(value) => !is_told(value),
        ContentBlock::ToolCall { .. } | ContentBlock::ToolResult { .. } => false,
    }
}

fn is_for_an_assistant(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text { text } => !is_blank(text),
        ContentBlock::ToolCall { .. } | ContentBlock::Other(_) => true,
        ContentBlock::ToolResult { .. } => false,
    }
}

fn is_for_a_tool(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text { text } => !is_blank(text),
        ContentBlock::ToolResult { .. } => true,
        ContentBlock::ToolCall { .. } | ContentBlock::Other(_) => false,
    }
}

/// What somebody said, if nobody knows how it was sent. Only the owner's words stand as they are; what else a message of
/// others may hold is left out, for nobody has looked at it.
fn as_it_came(message: &NewMessage) -> Vec<ContentBlock> {
    let note = match message.provenance {
        Provenance::Owner => return kept(message, is_for_a_user),
        Provenance::Outside => Some("from outside"),
        Provenance::User | Provenance::Agent => None,
    };
    let name = message.author.as_deref().unwrap_or_default();
    texts(message, |text| spoken(name, note, text))
}

/// The words of a message, each text put in another way.
fn texts(message: &NewMessage, put: impl Fn(&str) -> String) -> Vec<ContentBlock> {
    let words = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } if !is_blank(text) => Some(put(text)),
        _ => None,
    });
    words.filter(|words| !is_blank(words)).map(ContentBlock::text).collect()
}

fn in_brackets(text: &str) -> String {
    let text = plain_words(text);
    let text = text.trim();
    if text.starts_with('[') && text.ends_with(']') { text.to_owned() } else { format!("[{text}]") }
}

/// Whether a provider would take it for no text at all.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
