//! Change notifications, sent once a change is durable: on Postgres to every node, on SQLite to this process
//! immediately and to other processes by polling.

use std::str::FromStr;

use foreword_core::id::{CallId, ConversationId};
use foreword_core::turn::OwnerAnswer;

/// A change of stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChange {
    /// The messages, the turn or the epochs of a conversation.
    Conversation(ConversationId),
    /// The settings of a conversation.
    Settings(ConversationId),
    /// New items in a conversation's event stream.
    Stream {
        conversation: ConversationId,
        /// The number of the newest item.
        last: u64,
    },
    /// A request to cancel the running turn of this conversation.
    Cancel(ConversationId),
    /// The owner's answer to a turn's approval request.
    Answer {
        conversation: ConversationId,
        /// The tool call in question.
        call: CallId,
        /// The owner's decision.
        answer: OwnerAnswer,
    },
    /// A new template version.
    Template,
    /// A new version of a mutable layer.
    Layers,
    /// New messages in the inbox.
    Inbox,
    /// A changed schedule.
    Schedules,
    /// A changed API token.
    Tokens,
    /// Notifications may have been missed: read everything again.
    Anything,
}

impl StoreChange {
    /// The payload sent to other nodes.
    pub(crate) fn to_wire(&self) -> String {
        match self {
            Self::Conversation(id) => format!("conversation {id}"),
            Self::Settings(id) => format!("settings {id}"),
            Self::Stream { conversation, last } => format!("stream {last} {conversation}"),
            Self::Cancel(id) => format!("cancel {id}"),
            Self::Answer { conversation, call, answer } => format!("answer {answer} {call} {conversation}"),
            Self::Template => "template".to_owned(),
            Self::Layers => "layers".to_owned(),
            Self::Inbox => "inbox".to_owned(),
            Self::Schedules => "schedules".to_owned(),
            Self::Tokens => "tokens".to_owned(),
            Self::Anything => "anything".to_owned(),
        }
    }

    /// Parses another node's payload. A newer node may send changes this one does not know.
    pub(crate) fn from_wire(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("conversation", id)) => {
                ConversationId::from_str(id).map_or(Self::Anything, Self::Conversation)
            }
            Some(("settings", id)) => ConversationId::from_str(id).map_or(Self::Anything, Self::Settings),
            Some(("cancel", id)) => ConversationId::from_str(id).map_or(Self::Anything, Self::Cancel),
            Some(("stream", rest)) => stream(rest).unwrap_or(Self::Anything),
            // A malformed answer must never count as an approval.
            Some(("answer", rest)) => answer(rest).unwrap_or(Self::Anything),
            _ => match text {
                "template" => Self::Template,
                "layers" => Self::Layers,
                "inbox" => Self::Inbox,
                "schedules" => Self::Schedules,
                "tokens" => Self::Tokens,
                _ => Self::Anything,
            },
        }
    }
}

fn stream(rest: &str) -> Option<StoreChange> {
    let (last, id) = rest.split_once(' ')?;
    Some(StoreChange::Stream { conversation: id.parse().ok()?, last: last.parse().ok()? })
}

fn answer(rest: &str) -> Option<StoreChange> {
    let (answer, rest) = rest.split_once(' ')?;
    let (call, id) = rest.split_once(' ')?;
    Some(StoreChange::Answer {
        conversation: id.parse().ok()?,
        call: call.parse().ok()?,
        answer: answer.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_round_trips_and_unknown_means_any() {
        let changes = [
            StoreChange::Conversation(ConversationId::new("c-1").unwrap()),
            StoreChange::Settings(ConversationId::new("c-1").unwrap()),
            StoreChange::Stream { conversation: ConversationId::new("c-1").unwrap(), last: 12 },
            StoreChange::Cancel(ConversationId::new("c-1").unwrap()),
            StoreChange::Answer {
                conversation: ConversationId::new("c-1").unwrap(),
                call: CallId::new("call_1").unwrap(),
                answer: OwnerAnswer::RestOfTurn,
            },
            StoreChange::Template,
            StoreChange::Layers,
            StoreChange::Inbox,
            StoreChange::Schedules,
            StoreChange::Tokens,
            StoreChange::Anything,
        ];
        for change in changes {
            assert_eq!(StoreChange::from_wire(&change.to_wire()), change);
        }
        for unknown in
            ["", "moon phase", "conversation ", "conversation", "stream c-1", "stream x c-1", "cancel "]
                .into_iter()
                .chain(["answer once c-1", "answer maybe call_1 c-1", "answer once call_1 "])
        {
            assert_eq!(StoreChange::from_wire(unknown), StoreChange::Anything);
        }
    }
}
