//! Messages over which a turn has failed: they wait for another one, and after some that may have failed by their own
//! fault they are set aside, so that none of them holds up the others for ever. Nothing is thrown away.

use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{Fault, InboxState, is_set_aside_after};

use super::inbox::{InboxMessage, columns, inbox_message, to_inbox_message};
use crate::changes::Change;
use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::senders;
use crate::store::Store;

impl Store {
    /// Notes that `turn` has failed over these messages, whose `fault` that was, and why; those that have failed by their
    /// own often enough are set aside. What was dealt with otherwise, or noted for this turn before, stays as it is.
    /// Gives those it was noted for.
    ///
    /// # Errors
    /// If it can't be written; then nothing is.
    pub async fn attempt_failed(
        &self,
        messages: &[InboxId],
        turn: &TurnId,
        fault: Fault,
        error: &str,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        let (messages, error) = (messages.to_vec(), error.to_owned());
        self.run(Failed { messages, turn: turn.clone(), fault, error }).await
    }

    /// Puts a message that was set aside back among those that wait. Like one that waits for another attempt already, it is
    /// tried at once.
    ///
    /// # Errors
    /// If there is no such message, it was dealt with, or it can't be written.
    pub async fn put_back(&self, id: &InboxId) -> Result<InboxMessage, StoreError> {
        self.run(PutBack(id.clone())).await
    }

    /// Puts all messages that were set aside back among those that wait. Says how many.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn put_all_back(&self) -> Result<u64, StoreError> {
        self.run(PutAllBack).await
    }
}

pub(super) struct Failed {
    pub(super) messages: Vec<InboxId>,
    pub(super) turn: TurnId,
    pub(super) fault: Fault,
    pub(super) error: String,
}

impl Operation for Failed {
    type Output = Vec<InboxMessage>;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<InboxMessage>, StoreError> {
        sql.lock(senders::LOCK).await?;
        self.note(sql).await
    }
}

impl Failed {
    /// Notes the attempt; the caller holds the senders' lock.
    pub(super) async fn note<S: Sql>(&self, sql: &mut S) -> Result<Vec<InboxMessage>, StoreError> {
        let own = u64::from(self.fault == Fault::Message);
        let mut noted = Vec::new();
        for id in &self.messages {
            let update = concat!(
                "UPDATE inbox SET attempts = attempts + 1, failures = failures + ?4, error = ?3, turn_id = ?2
                 WHERE id = ?1 AND state = 'staged' AND (turn_id IS NULL OR turn_id <> ?2) RETURNING ",
                columns!()
            );
            let row = sql.query_optional(update, values![id, &self.turn, &self.error, own]).await?;
            let Some(row) = row else { continue };
            let mut message = to_inbox_message(&row)?;
            if self.fault == Fault::Message && is_set_aside_after(message.failures) {
                sql.execute("UPDATE inbox SET state = 'set_aside' WHERE id = ?1", values![id]).await?;
                message.state = InboxState::SetAside;
            }
            noted.push(message);
        }
        Ok(noted)
    }
}

struct PutAllBack;

impl Operation for PutAllBack {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        let update = "UPDATE inbox SET state = 'staged', turn_id = NULL WHERE state = 'set_aside'";
        let put_back = sql.execute(update, values![]).await?;
        if put_back > 0 {
            sql.announce(Change::Inbox).await?;
        }
        Ok(put_back)
    }
}

struct PutBack(InboxId);

impl Operation for PutBack {
    type Output = InboxMessage;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<InboxMessage, StoreError> {
        // Without the turn that failed last there is nothing to wait for.
        let update = "UPDATE inbox SET state = 'staged', turn_id = NULL
             WHERE id = ?1 AND (state = 'set_aside' OR (state = 'staged' AND attempts > 0))";
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
