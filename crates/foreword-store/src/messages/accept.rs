//! Taking messages in, each once, however often it is delivered.

use foreword_core::message::{Message, NewMessage};

use super::{columns, content, insert, message};
use crate::conversations;
use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;

/// What a sender calls a delivery, so that the same one again is known for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Whose keys they are, such as a bridge or a token: two senders may use the same key.
    pub scope: String,
    /// The key.
    pub key: String,
}

/// A message that is in the conversation now, and since when.
#[derive(Debug, Clone, PartialEq)]
pub enum Accepted {
    /// It has just been taken in.
    New(Message),
    /// It was taken in before; this is what was stored then. Whether a turn has taken it up, it says itself.
    Before(Message),
}

impl Accepted {
    /// The message, whichever way.
    #[must_use]
    pub fn message(&self) -> &Message {
        match self {
            Self::New(message) | Self::Before(message) => message,
        }
    }
}

pub(crate) const BY_KEY: &str =
    concat!("SELECT ", columns!(), " FROM messages WHERE idempotency_scope = ?1 AND idempotency_key = ?2");
pub(crate) const BY_ID: &str = concat!("SELECT ", columns!(), " FROM messages WHERE id = ?1");

pub(crate) struct Accept {
    pub(crate) new: NewMessage,
    pub(crate) key: Option<IdempotencyKey>,
}

impl Operation for Accept {
    type Output = Accepted;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Accepted, StoreError> {
        let Self { new, key } = self;
        conversations::lock(sql, &new.conversation).await?;
        if let Some(key) = key {
            let row = sql.query_optional(BY_KEY, values![&key.scope, &key.key]).await?;
            if let Some(before) = row.as_ref().map(message).transpose()? {
                let used = StoreError::UsedBefore { what: "idempotency key", id: key.key.clone() };
                return if is_same(&before.message, new)? { Ok(Accepted::Before(before)) } else { Err(used) };
            }
        }
        let row = sql.query_optional(BY_ID, values![&new.id]).await?;
        if let Some(before) = row.as_ref().map(message).transpose()? {
            let used = StoreError::UsedBefore { what: "message id", id: new.id.to_string() };
            return if is_same(&before.message, new)? { Ok(Accepted::Before(before)) } else { Err(used) };
        }
        insert(sql, new, key.as_ref()).await.map(Accepted::New)
    }
}

/// Whether somebody says the same again: time, trust and the rest may differ from one delivery to the next.
fn is_same(before: &NewMessage, now: &NewMessage) -> Result<bool, StoreError> {
    let said = |message: &NewMessage| {
        (message.conversation.clone(), message.role, message.kind, message.author.clone())
    };
    Ok(said(before) == said(now) && content(before)? == content(now)?)
}
