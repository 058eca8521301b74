//! The history of a conversation as a model reads it: in the order it was sent, and in a form every provider takes.
//!
//! People read messages as they came in. A model reads turn by turn: what came in while it was answering stands behind
//! that answer. So what one turn sent, with what it replied, is the beginning of what the next one sends, byte for byte,
//! and a provider's cache still holds it. A turn that ends should therefore write what it sent ([`Kind::Sent`]) even if it
//! failed; one that wrote nothing at all is put where it must have been if messages are taken up in the order they came.

mod order;
mod pairing;
mod wording;

use foreword_prompt::turn_delta::Told;
use serde_json::Value;

use crate::id::TurnId;
use crate::message::{ContentBlock, Kind, Message};
use crate::model::{RequestMessage, RequestRole};

/// What stands for the result of a call that never came.
pub const NO_RESULT: &str = "no result: the turn was interrupted";
/// What stands first if the agent has spoken first: providers want a user's message there.
pub const BEGINNING: &str = "[The conversation begins here.]";

/// `history` as the model reads it before the messages of the turn `current`, which brings its own. Messages that no turn
/// has taken up yet are not in it. What is withheld from the turn must be withheld already; see
/// [`History::at_trust`](crate::history::History::at_trust).
///
/// Whatever the history is, the result can be sent: it begins with a user's message, no message is empty, and every call
/// of a tool has its result right behind it.
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
    let worded = order::in_order(history, current).into_iter().filter_map(wording::worded);
    let mut messages = pairing::paired(worded);
    if messages.first().is_some_and(|first| first.role != RequestRole::User) {
        let beginning = vec![ContentBlock::text(BEGINNING)];
        messages.insert(0, RequestMessage { role: RequestRole::User, content: beginning });
    }
    messages
}

/// The type of the block in which a turn keeps what it told the model. It is never sent.
const TOLD: &str = "told";

/// What a turn told the model, as a block of its [`Kind::Sent`] message that is never sent: the
/// [news](Told::since) only, so that it counts only where that message is read.
///
/// # Errors
/// Never, as far as we know: everything in it has a JSON form.
pub fn told_block(news: &Told) -> Result<ContentBlock, serde_json::Error> {
    let mut value = serde_json::to_value(news)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("type".to_owned(), TOLD.into());
    }
    Ok(ContentBlock::Other(value))
}

/// What a model has been told that reads `history`. What is covered by a summary or withheld it has not been told, and a
/// block that can't be read counts as not told: better twice than never.
#[must_use]
pub fn told(history: &[Message]) -> Told {
    let sent = history.iter().filter(|message| message.message.kind == Kind::Sent);
    sent.flat_map(|message| &message.message.content)
        .filter_map(|block| match block {
            ContentBlock::Other(value) if is_told(value) => {
                serde_json::from_value::<Told>(value.clone()).ok()
            }
            _ => None,
        })
        .fold(Told::default(), |told, news| told.then(&news))
}

fn is_told(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some(TOLD)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
