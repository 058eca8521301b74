//! What a turn will leave in the conversation, as the model reads it now and as it is stored at the end: the same.

use foreword_core::id::{BadId, ConversationId, MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use foreword_core::model::RequestMessage;
use foreword_core::timestamp::Timestamp;
use foreword_core::transcript::transcript;
use foreword_core::turn::Said;
use foreword_prompt::trust::Trust;

/// The messages of a turn that is not over.
#[derive(Debug, Clone)]
pub(crate) struct Drafts {
    pub(crate) conversation: ConversationId,
    pub(crate) turn: TurnId,
    pub(crate) trust: Trust,
    /// What was sent for the messages the turn took up.
    pub(crate) sent: Vec<ContentBlock>,
    /// Whether the first block of it is what was new for the model, and nobody's words.
    pub(crate) has_context: bool,
    /// Where those words came from, at worst.
    pub(crate) provenance: Provenance,
    /// Who said them, if it was one person.
    pub(crate) author: Option<String>,
    /// The agent's name.
    pub(crate) agent: String,
}

impl Drafts {
    /// The messages as they are stored. Their ids follow from the turn, so that storing them again is the same.
    pub(crate) fn messages(&self, said: &[Said], at: Timestamp) -> Result<Vec<NewMessage>, BadId> {
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
        for (index, said) in said.iter().enumerate() {
            let author = (said.role == Role::Assistant).then(|| self.agent.clone());
            messages.push(NewMessage {
                content: said.content.clone(),
                provenance: said.provenance(),
                usage: said.usage,
                author,
                ..draft(id(index + 1)?, said.role, said.kind())
            });
        }
        Ok(messages)
    }

    /// The messages as the model reads them.
    pub(crate) fn request(&self, said: &[Said], at: Timestamp) -> Result<Vec<RequestMessage>, BadId> {
        let numbered = self.messages(said, at)?.into_iter().zip(1_u64..);
        let messages: Vec<Message> = numbered.map(|(message, seq)| Message { seq, message }).collect();
        Ok(transcript(&messages, None))
    }
}
