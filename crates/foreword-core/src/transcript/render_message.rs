//! Renders one message for a model.

use foreword_prompt::untrusted::{quote_group_message, sanitize_message};

use super::is_announced;
use crate::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use crate::model::{RequestMessage, RequestRole};

/// The message as a model reads it; `None` if nothing is left.
pub(super) fn render(message: &Message) -> Option<RequestMessage> {
    let message = &message.message;
    let (role, content) = match (message.kind, message.role) {
        (Kind::Summary, _) => (RequestRole::User, texts(message, sanitize_message)),
        (Kind::Notice, _) | (Kind::Message, Role::System) => (RequestRole::User, texts(message, in_brackets)),
        (Kind::Sent, _) => (RequestRole::User, blocks_for(message, is_for_a_user)),
        (Kind::Message, Role::User) => (RequestRole::User, as_it_came(message)),
        (Kind::Message, Role::Assistant) => {
            (RequestRole::Assistant, blocks_for(message, is_for_an_assistant))
        }
        (Kind::Message, Role::Tool) => (RequestRole::Tool, blocks_for(message, is_for_a_tool)),
    };
    (!content.is_empty()).then_some(RequestMessage { role, content })
}

fn blocks_for(message: &NewMessage, belongs: fn(&ContentBlock) -> bool) -> Vec<ContentBlock> {
    message.content.iter().filter(|block| belongs(block)).cloned().collect()
}

fn is_for_a_user(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text { text } => !is_blank(text),
        ContentBlock::Other(value) => !is_announced(value),
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

/// A user message without a [`Kind::Sent`] counterpart. Only the owner's text is used verbatim; other blocks of other
/// users' messages are dropped, since they are unchecked.
fn as_it_came(message: &NewMessage) -> Vec<ContentBlock> {
    let note = match message.provenance {
        Provenance::Owner => return blocks_for(message, is_for_a_user),
        Provenance::Outside => Some("from outside"),
        Provenance::User | Provenance::Agent => None,
    };
    let name = message.author.as_deref().unwrap_or_default();
    texts(message, |text| quote_group_message(name, note, text))
}

/// The texts of a message, each converted by `put`.
fn texts(message: &NewMessage, put: impl Fn(&str) -> String) -> Vec<ContentBlock> {
    let texts = message.content.iter().filter_map(ContentBlock::as_text);
    let texts = texts.filter(|text| !is_blank(text)).map(put);
    texts.filter(|text| !is_blank(text)).map(ContentBlock::text).collect()
}

fn in_brackets(text: &str) -> String {
    let text = sanitize_message(text);
    let text = text.trim();
    if text.starts_with('[') && text.ends_with(']') { text.to_owned() } else { format!("[{text}]") }
}

/// Whether a provider treats the text as empty.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
