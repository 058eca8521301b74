//! Accepts messages and deduplicates them by id or idempotency key.

use foreword_core::message::{Message, NewMessage};

use super::{columns, content, insert, message};
use crate::conversation_lock;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

/// The client's idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The namespace of the key, such as a bridge or a token.
    pub scope: String,
    pub key: String,
}

/// The outcome of accepting a message.
#[derive(Debug, Clone, PartialEq)]
pub enum AcceptOutcome {
    /// The message is new.
    New(Message),
    /// The message was accepted before; the stored message, which also tells whether a turn has taken it.
    Before(Message),
}

impl AcceptOutcome {
    /// The message in either case.
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
    type Output = AcceptOutcome;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<AcceptOutcome, StoreError> {
        let Self { new, key } = self;
        conversation_lock::lock(sql, &new.conversation).await?;
        if let Some(key) = key {
            let row = sql.query_optional(BY_KEY, values![&key.scope, &key.key]).await?;
            if let Some(before) = row.as_ref().map(message).transpose()? {
                let used = StoreError::UsedBefore { what: "idempotency key", id: key.key.clone() };
                return if is_same(&before.message, new)? {
                    Ok(AcceptOutcome::Before(before))
                } else {
                    Err(used)
                };
            }
        }
        let row = sql.query_optional(BY_ID, values![&new.id]).await?;
        if let Some(before) = row.as_ref().map(message).transpose()? {
            let used = StoreError::UsedBefore { what: "message id", id: new.id.to_string() };
            return if is_same(&before.message, new)? {
                Ok(AcceptOutcome::Before(before))
            } else {
                Err(used)
            };
        }
        insert(sql, new, key.as_ref()).await.map(AcceptOutcome::New)
    }
}

/// Whether the content is the same. Time and trust may differ between deliveries.
fn is_same(before: &NewMessage, now: &NewMessage) -> Result<bool, StoreError> {
    let said = |message: &NewMessage| {
        (message.conversation.clone(), message.role, message.kind, message.author.clone())
    };
    Ok(said(before) == said(now) && content(before)? == content(now)?)
}
