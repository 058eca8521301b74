//! Messages over which a turn has failed: they wait for another one, and after some are set aside, so that none of them
//! holds up the others for ever. Nothing is thrown away.

use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{InboxState, is_set_aside_after};

use super::inbox::{InboxMessage, columns, inbox_message, to_inbox_message};
use crate::changes::Change;
use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::senders;
use crate::store::Store;

impl Store {
    /// Notes that `turn` has failed over these messages, and why; those that have failed often enough are set aside. What
    /// was dealt with otherwise, or noted for this turn before, stays as it is. Gives those it was noted for.
    ///
    /// # Errors
    /// If it can't be written; then nothing is.
    pub async fn attempt_failed(
        &self,
        messages: &[InboxId],
        turn: &TurnId,
        error: &str,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        self.run(Failed { messages: messages.to_vec(), turn: turn.clone(), error: error.to_owned() }).await
    }

    /// Puts a message that was set aside back among those that wait. One that waits already does so.
    ///
    /// # Errors
    /// If there is no such message, it was dealt with, or it can't be written.
    pub async fn put_back(&self, id: &InboxId) -> Result<InboxMessage, StoreError> {
        self.run(PutBack(id.clone())).await
    }
}

struct Failed {
    messages: Vec<InboxId>,
    turn: TurnId,
    error: String,
}

impl Operation for Failed {
    type Output = Vec<InboxMessage>;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<InboxMessage>, StoreError> {
        sql.lock(senders::LOCK).await?;
        let mut noted = Vec::new();
        for id in &self.messages {
            let update = concat!(
                "UPDATE inbox SET attempts = attempts + 1, error = ?3, turn_id = ?2
                 WHERE id = ?1 AND state = 'staged' AND (turn_id IS NULL OR turn_id <> ?2) RETURNING ",
                columns!()
            );
            let row = sql.query_optional(update, values![id, &self.turn, &self.error]).await?;
            let Some(row) = row else { continue };
            let mut message = to_inbox_message(&row)?;
            if is_set_aside_after(message.attempts) {
                sql.execute("UPDATE inbox SET state = 'set_aside' WHERE id = ?1", values![id]).await?;
                message.state = InboxState::SetAside;
            }
            noted.push(message);
        }
        Ok(noted)
    }
}

struct PutBack(InboxId);

impl Operation for PutBack {
    type Output = InboxMessage;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<InboxMessage, StoreError> {
        let update = "UPDATE inbox SET state = 'staged' WHERE id = ?1 AND state = 'set_aside'";
        if sql.execute(update, values![&self.0]).await? > 0 {
            sql.announce(Change::Inbox).await?;
        }
        let message = inbox_message(sql, &self.0).await?;
        match &message.consumed {
            None => Ok(message),
            Some((turn, _)) => Err(StoreError::Taken {
                what: "inbox message",
                id: self.0.to_string(),
                turn: turn.to_string(),
            }),
        }
    }
}
