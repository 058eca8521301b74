//! What has changed, told to whoever listens once it is durable: on Postgres to every node, on SQLite to this process
//! at once and to others when they look.

use std::str::FromStr;

use foreword_core::id::{CallId, ConversationId};
use foreword_core::turn::Asked;

/// Something that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A conversation: its messages, its turn, its epochs.
    Conversation(ConversationId),
    /// The settings of a conversation.
    Settings(ConversationId),
    /// Something more has happened in a conversation, for whoever looks on.
    Stream {
        /// Where.
        conversation: ConversationId,
        /// The number of the last of it.
        last: u64,
    },
    /// Whoever runs a turn in this conversation is asked to stop it.
    Cancel(ConversationId),
    /// The owner has answered what a turn in this conversation has asked.
    Answer {
        /// Where.
        conversation: ConversationId,
        /// What was asked about.
        call: CallId,
        /// The owner's word.
        answer: Asked,
    },
    /// The template.
    Template,
    /// A mutable layer.
    Layers,
    /// Messages wait in the inbox.
    Inbox,
    /// A schedule.
    Schedules,
    /// An API token.
    Tokens,
    /// Something may have changed that was not told: look again.
    Anything,
}

impl Change {
    /// The change as it travels between nodes.
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

    /// What another node said; a newer one may say things this one does not know.
    pub(crate) fn from_wire(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("conversation", id)) => {
                ConversationId::from_str(id).map_or(Self::Anything, Self::Conversation)
            }
            Some(("settings", id)) => ConversationId::from_str(id).map_or(Self::Anything, Self::Settings),
            Some(("cancel", id)) => ConversationId::from_str(id).map_or(Self::Anything, Self::Cancel),
            Some(("stream", rest)) => stream(rest).unwrap_or(Self::Anything),
            // A word that does not arrive whole is none: least of all a yes.
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

fn stream(rest: &str) -> Option<Change> {
    let (last, id) = rest.split_once(' ')?;
    Some(Change::Stream { conversation: id.parse().ok()?, last: last.parse().ok()? })
}

fn answer(rest: &str) -> Option<Change> {
    let (answer, rest) = rest.split_once(' ')?;
    let (call, id) = rest.split_once(' ')?;
    Some(Change::Answer {
        conversation: id.parse().ok()?,
        call: call.parse().ok()?,
        answer: answer.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_arrives_as_it_was_sent_and_an_unknown_one_as_anything() {
        let changes = [
            Change::Conversation(ConversationId::new("c-1").unwrap()),
            Change::Settings(ConversationId::new("c-1").unwrap()),
            Change::Stream { conversation: ConversationId::new("c-1").unwrap(), last: 12 },
            Change::Cancel(ConversationId::new("c-1").unwrap()),
            Change::Answer {
                conversation: ConversationId::new("c-1").unwrap(),
                call: CallId::new("call_1").unwrap(),
                answer: Asked::RestOfTurn,
            },
            Change::Template,
            Change::Layers,
            Change::Inbox,
            Change::Schedules,
            Change::Tokens,
            Change::Anything,
        ];
        for change in changes {
            assert_eq!(Change::from_wire(&change.to_wire()), change);
        }
        for unknown in
            ["", "moon phase", "conversation ", "conversation", "stream c-1", "stream x c-1", "cancel "]
                .into_iter()
                .chain(["answer once c-1", "answer maybe call_1 c-1", "answer once call_1 "])
        {
            assert_eq!(Change::from_wire(unknown), Change::Anything);
        }
    }
}
