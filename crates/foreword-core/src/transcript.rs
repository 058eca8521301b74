//! Converts the history of a conversation into request messages, in the order they were sent and in a form every
//! provider accepts.
//!
//! People read messages in the order of arrival. A model reads turn by turn: messages that arrived while it was
//! answering come after that answer. So the messages and the answer of one turn are a byte-for-byte prefix of the next
//! request, and the provider's cache still matches. A turn should therefore write what it sent ([`Kind::Sent`]) even if
//! it failed; a turn that wrote nothing is placed as if messages are taken up in the order of arrival.

mod order;
mod render_message;
mod tool_results;

use foreword_prompt::turn_delta::Announced;
use serde_json::Value;

use crate::id::TurnId;
use crate::message::{ContentBlock, Kind, Message};
use crate::model::{RequestMessage, RequestRole};

/// The placeholder for a missing tool result.
pub const NO_RESULT: &str = "no result: the turn was interrupted";
/// The first message if the agent spoke first: providers require a user message there.
pub const BEGINNING: &str = "[The conversation begins here.]";

/// `history` as the model reads it before the messages of the turn `current`. Messages that no turn has taken up are
/// not included. Withheld messages must already be replaced; see
/// [`History::at_trust`](crate::history::History::at_trust).
///
/// The result is always valid: it starts with a user message, no message is empty, and every tool call is followed by
/// its result.
///
/// ```
/// use foreword_core::id::TurnId;
/// use foreword_core::message::{ContentBlock, Kind, Role};
/// use foreword_core::model::RequestRole;
/// use foreword_core::transcript::transcript;
/// # use foreword_core::message::{Message, NewMessage, Provenance};
/// # let message = |seq: u64, turn: &str, (role, kind), text: &str| Message { seq, message: NewMessage {
/// #     id: foreword_core::id::MessageId::new(format!("m-{seq}")).unwrap(),
/// #     conversation: foreword_core::id::ConversationId::new("c-1").unwrap(),
/// #     role, kind, content: vec![ContentBlock::text(text)], trust: foreword_prompt::trust::Trust::Full,
/// #     provenance: Provenance::Owner, author: Some("alice".to_owned()), turn: TurnId::new(turn).ok(), usage: None,
/// #     at: "2026-11-16T08:00:00Z".parse().unwrap() } };
/// let history = [
///     message(1, "t-1", (Role::User, Kind::Message), "What time is it?"),
///     message(2, "t-2", (Role::User, Kind::Message), "And in Lisbon?"), // came while the first turn was running
///     message(3, "t-1", (Role::User, Kind::Sent), "<turn-context>…</turn-context>\n\nWhat time is it?"),
///     message(4, "t-1", (Role::Assistant, Kind::Message), "Noon."),
/// ];
/// let before = transcript(&history, Some(&TurnId::new("t-2").unwrap()));
/// let roles: Vec<RequestRole> = before.iter().map(|message| message.role).collect();
/// assert_eq!(roles, [RequestRole::User, RequestRole::Assistant]);
/// assert_eq!(before[0].content, history[2].message.content);
/// ```
#[must_use]
pub fn transcript(history: &[Message], current: Option<&TurnId>) -> Vec<RequestMessage> {
    let worded = order::in_order(history, current).into_iter().filter_map(render_message::render);
    let mut messages = tool_results::pair(worded);
    if messages.first().is_some_and(|first| first.role != RequestRole::User) {
        let beginning = vec![ContentBlock::text(BEGINNING)];
        messages.insert(0, RequestMessage { role: RequestRole::User, content: beginning });
    }
    messages
}

/// The type of the internal block that records what a turn told the model. It is never sent.
const TOLD: &str = "told";

/// What a turn told the model, as an internal block of its [`Kind::Sent`] message: only the [changes](Announced::since), so
/// that they count only where that message is read.
///
/// # Errors
/// If it cannot be serialised, which does not happen in practice.
pub fn announced_block(news: &Announced) -> Result<ContentBlock, serde_json::Error> {
    let mut value = serde_json::to_value(news)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("type".to_owned(), TOLD.into());
    }
    Ok(ContentBlock::Other(value))
}

/// What a model that reads `history` has been told. Covered or withheld messages do not count, nor do unreadable
/// blocks: repeating is better than omitting.
#[must_use]
pub fn announced(history: &[Message]) -> Announced {
    let sent = history.iter().filter(|message| message.message.kind == Kind::Sent);
    sent.flat_map(|message| &message.message.content)
        .filter_map(|block| match block {
            ContentBlock::Other(value) if is_announced(value) => {
                serde_json::from_value::<Announced>(value.clone()).ok()
            }
            _ => None,
        })
        .fold(Announced::default(), |announced, news| announced.then(&news))
}

fn is_announced(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some(TOLD)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
