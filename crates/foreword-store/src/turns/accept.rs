//! Takes a message in and begins its turn, in one transaction: whoever waits for the answer waits for one commit.

use foreword_core::message::NewMessage;

use super::{Begin, BeginTurn, Take, begin};
use crate::engine::{Access, Sql, values};
use crate::error::StoreError;
use crate::messages::{Accept, Accepted, IdempotencyKey};

/// A message, and the turn that is to answer it if nothing stands in the way.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptAndBegin {
    /// The message.
    pub message: NewMessage,
    /// What its sender calls it.
    pub key: Option<IdempotencyKey>,
    /// The turn. Which messages it takes up is not asked: this one.
    pub begin: BeginTurn,
}

pub(super) struct Operation(pub(super) AcceptAndBegin);

/// Whether others wait: two are enough to know.
const WAITING: &str = "SELECT id FROM messages
     WHERE conversation_id = ?1 AND turn_id IS NULL AND role = 'user' AND kind = 'message' LIMIT 2";

impl crate::engine::Operation for Operation {
    type Output = (Accepted, Option<Begin>);
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Self::Output, StoreError> {
        let AcceptAndBegin { message, key, begin } = &self.0;
        let accepted = Accept { new: message.clone(), key: key.clone() }.run(sql).await?;
        if matches!(accepted, Accepted::Before(_)) {
            return Ok((accepted, None));
        }
        // Those who came first are answered first.
        if sql.query(WAITING, values![&message.conversation]).await?.len() > 1 {
            return Ok((accepted, None));
        }
        let take = Take::Messages(vec![message.id.clone()]);
        let begun = begin::Operation(BeginTurn { take, ..begin.clone() }).run(sql).await?;
        Ok((accepted, Some(begun)))
    }
}
