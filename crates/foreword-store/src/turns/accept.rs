//! Accepts a message and begins its turn in one transaction, which saves a commit.

use foreword_core::message::NewMessage;

use super::{BeginOutcome, BeginTurn, TakeMessages, begin};
use crate::engine::{Access, Transaction, values};
use crate::error::StoreError;
use crate::messages::{Accept, AcceptOutcome, IdempotencyKey};

/// A message, and the turn to answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptAndBegin {
    pub message: NewMessage,
    /// The client's idempotency key.
    pub key: Option<IdempotencyKey>,
    /// The turn. Its `take` is ignored: it takes this message.
    pub begin: BeginTurn,
}

pub(super) struct Operation(pub(super) AcceptAndBegin);

/// Other pending messages; two are enough to know.
const WAITING: &str = "SELECT id FROM messages
     WHERE conversation_id = ?1 AND turn_id IS NULL AND role = 'user' AND kind = 'message' LIMIT 2";

impl crate::engine::Operation for Operation {
    type Output = (AcceptOutcome, Option<BeginOutcome>);
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Self::Output, StoreError> {
        let AcceptAndBegin { message, key, begin } = &self.0;
        let accepted = Accept { new: message.clone(), key: key.clone() }.run(sql).await?;
        if matches!(accepted, AcceptOutcome::Before(_)) {
            return Ok((accepted, None));
        }
        // Earlier messages are answered first.
        if sql.query(WAITING, values![&message.conversation]).await?.len() > 1 {
            return Ok((accepted, None));
        }
        let take = TakeMessages::Messages(vec![message.id.clone()]);
        let begun = begin::Operation(BeginTurn { take, ..begin.clone() }).run(sql).await?;
        Ok((accepted, Some(begun)))
    }
}
