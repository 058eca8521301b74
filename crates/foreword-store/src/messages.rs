//! Messages: in order, each at the trust it was written at; durable before whoever brought one is told.

use foreword_core::id::ConversationId;
use foreword_core::message::{Message, NewMessage, Usage};

use crate::changes::Change;
use crate::engine::{Row, Sql, Value, values};
use crate::error::StoreError;

/// The columns that [`message`] reads, in order.
pub(crate) const COLUMNS: &str = "seq, id, conversation_id, role, kind, content, trust, provenance, author, turn_id, \
     tokens_in, tokens_out, cache_read, cache_write, created_at";

/// Adds a message at the end of its conversation. The caller holds the conversation's lock.
pub(crate) async fn append<S: Sql>(sql: &mut S, new: &NewMessage) -> Result<Message, StoreError> {
    let seq = next_seq(sql, &new.conversation).await?;
    let content = serde_json::to_string(&new.content)
        .map_err(|error| StoreError::Unreadable { what: format!("a message's content: {error}") })?;
    let usage = |part: fn(&Usage) -> u64| Value::from(new.usage.as_ref().map(part));
    sql.execute(
        "INSERT INTO messages (conversation_id, seq, id, role, kind, content, trust, provenance, author, turn_id,
             tokens_in, tokens_out, cache_read, cache_write, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        &[
            (&new.conversation).into(),
            seq.into(),
            (&new.id).into(),
            new.role.as_str().into(),
            new.kind.as_str().into(),
            content.into(),
            new.trust.into(),
            new.provenance.as_str().into(),
            new.author.as_deref().into(),
            new.turn.as_ref().into(),
            usage(|usage| usage.input),
            usage(|usage| usage.output),
            usage(|usage| usage.cache_read),
            usage(|usage| usage.cache_write),
            new.at.into(),
        ],
    )
    .await?;
    sql.announce(Change::Conversation(new.conversation.clone())).await?;
    Ok(Message { seq, message: new.clone() })
}

/// The next free place in a conversation, which is now taken.
async fn next_seq<S: Sql>(sql: &mut S, conversation: &ConversationId) -> Result<u64, StoreError> {
    let update = "UPDATE conversations SET next_seq = next_seq + 1 WHERE id = ?1 RETURNING next_seq - 1";
    match sql.query_optional(update, values![conversation]).await? {
        Some(row) => row.get(0),
        None => Err(StoreError::NotFound { what: "conversation", id: conversation.to_string() }),
    }
}

/// A message out of a row of [`COLUMNS`].
pub(crate) fn message(row: &Row) -> Result<Message, StoreError> {
    let usage = match row.get::<Option<u64>>(10)? {
        Some(input) => {
            Some(Usage { input, output: row.get(11)?, cache_read: row.get(12)?, cache_write: row.get(13)? })
        }
        None => None,
    };
    let message = NewMessage {
        id: row.parse(1)?,
        conversation: row.parse(2)?,
        role: row.parse(3)?,
        kind: row.parse(4)?,
        content: row.json(5)?,
        trust: row.parse(6)?,
        provenance: row.parse(7)?,
        author: row.get(8)?,
        turn: row.parse_optional(9)?,
        usage,
        at: row.parse(14)?,
    };
    Ok(Message { seq: row.get(0)?, message })
}
