//! The answer to a message: the turn that took it and that turn's final text.

use foreword_core::id::{MessageId, TurnId};
use foreword_core::message::ContentBlock;

use super::{StoredTurn, rows};
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

/// A turn and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The turn, as it stands.
    pub turn: StoredTurn,
    /// The text of its last answer; empty if there is none yet.
    pub text: String,
    /// Whether the message is the first of the turn's messages. The turn's cost is attributed to that one.
    pub is_first: bool,
}

pub(super) struct To(pub(super) MessageId);

impl Operation for To {
    type Output = Option<Answer>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<Answer>, StoreError> {
        let select = "SELECT turn_id FROM messages WHERE id = ?1";
        let Some(row) = sql.query_optional(select, values![&self.0]).await? else {
            return Err(StoreError::NotFound { what: "message", id: self.0.to_string() });
        };
        let Some(turn) = row.parse_optional::<TurnId>(0)? else { return Ok(None) };
        let turn = rows::get(sql, &turn).await?;
        let select = "SELECT content FROM messages WHERE conversation_id = ?1 AND turn_id = ?2
                AND role = 'assistant' ORDER BY seq DESC LIMIT 1";
        let text = match sql.query_optional(select, values![&turn.conversation, &turn.id]).await? {
            Some(row) => ContentBlock::joined_text(&row.json::<Vec<_>>(0)?),
            None => String::new(),
        };
        let select = "SELECT id FROM messages WHERE conversation_id = ?1 AND turn_id = ?2
                AND role = 'user' ORDER BY seq LIMIT 1";
        let first = sql.query_optional(select, values![&turn.conversation, &turn.id]).await?;
        let is_first = first.map(|row| row.parse::<MessageId>(0)).transpose()?.as_ref() == Some(&self.0);
        Ok(Some(Answer { turn, text, is_first }))
    }
}
