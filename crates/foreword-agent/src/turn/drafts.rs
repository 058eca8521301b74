//! The messages of a running turn. The model reads the same content that is stored at the end.

use foreword_core::id::{BadId, ConversationId, MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use foreword_core::model::RequestMessage;
use foreword_core::timestamp::Timestamp;
use foreword_core::transcript::transcript;
use foreword_core::turn::TurnMessage;
use foreword_prompt::trust::Trust;

/// The messages of a running turn.
#[derive(Debug, Clone)]
pub(crate) struct Drafts {
    pub(crate) conversation: ConversationId,
    pub(crate) turn: TurnId,
    pub(crate) trust: Trust,
    /// The content sent for the messages that the turn answers.
    pub(crate) sent: Vec<ContentBlock>,
    /// Whether the first block of `sent` is turn context and not message text.
    pub(crate) has_context: bool,
    /// The least trusted provenance of `sent`.
    pub(crate) provenance: Provenance,
    /// The author of the messages, if all have the same.
    pub(crate) author: Option<String>,
    /// The agent's name.
    pub(crate) agent: String,
}

impl Drafts {
    /// The messages to store. Their ids derive from the turn, so storing them is idempotent.
    pub(crate) fn messages(
        &self,
        turn_messages: &[TurnMessage],
        at: Timestamp,
    ) -> Result<Vec<NewMessage>, BadId> {
        let id = |number: usize| MessageId::new(format!("{}-{number}", self.turn));
        let draft = |id: MessageId, role: Role, kind: Kind| NewMessage {
            id,
            conversation: self.conversation.clone(),
            role,
            kind,
            content: Vec::new(),
            trust: self.trust,
            provenance: Provenance::Agent,
            author: None,
            turn: Some(self.turn.clone()),
            usage: None,
            at,
        };
        let mut messages = vec![NewMessage {
            content: self.sent.clone(),
            provenance: self.provenance,
            author: self.author.clone(),
            ..draft(id(0)?, Role::User, Kind::Sent)
        }];
        for (index, message) in turn_messages.iter().enumerate() {
            let author = (message.role == Role::Assistant).then(|| self.agent.clone());
            messages.push(NewMessage {
                content: message.content.clone(),
                provenance: message.provenance(),
                usage: message.usage,
                author,
                ..draft(id(index + 1)?, message.role, message.kind())
            });
        }
        Ok(messages)
    }

    /// The messages as sent to the model.
    pub(crate) fn request(
        &self,
        turn_messages: &[TurnMessage],
        at: Timestamp,
    ) -> Result<Vec<RequestMessage>, BadId> {
        let numbered = self.messages(turn_messages, at)?.into_iter().zip(1_u64..);
        let messages: Vec<Message> = numbered.map(|(message, seq)| Message { seq, message }).collect();
        Ok(transcript(&messages, None))
    }
}
