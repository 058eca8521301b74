//! Failed attempts to process inbox messages. A message is retried, and set aside after too many failures of its own,
//! so that it does not block the others. Messages are never deleted.

use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{FailureSource, InboxState, is_set_aside_after};

use super::inbox::{InboxMessage, columns, inbox_message, to_inbox_message};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::senders;
use crate::store::Store;

impl Store {
    /// Records that `turn` failed on these messages, with the kind of `fault` and the error. Sets aside messages with
    /// too many failures of their own. Skips messages that were consumed or already recorded for this turn. Returns
    /// the recorded ones.
    ///
    /// # Errors
    /// If the database can't be written; then nothing is recorded.
    pub async fn attempt_failed(
        &self,
        messages: &[InboxId],
        turn: &TurnId,
        fault: FailureSource,
        error: &str,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        let (messages, error) = (messages.to_vec(), error.to_owned());
        self.run(Failed { messages, turn: turn.clone(), fault, error }).await
    }

    /// Puts a message that was set aside back into the queue. Also clears the retry delay of a waiting message.
    ///
    /// # Errors
    /// If there is no such message, it was consumed, or the database can't be written.
    pub async fn put_back(&self, id: &InboxId) -> Result<InboxMessage, StoreError> {
        self.run(PutBack(id.clone())).await
    }

    /// Puts all messages that were set aside back into the queue. Returns how many.
    pub async fn put_all_back(&self) -> Result<u64, StoreError> {
        self.run(PutAllBack).await
    }
}

pub(super) struct Failed {
    pub(super) messages: Vec<InboxId>,
    pub(super) turn: TurnId,
    pub(super) fault: FailureSource,
    pub(super) error: String,
}

impl Operation for Failed {
    type Output = Vec<InboxMessage>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<InboxMessage>, StoreError> {
        sql.lock(senders::LOCK).await?;
        self.note(sql).await
    }
}

impl Failed {
    /// Records the attempt; the caller holds the senders' lock.
    pub(super) async fn note(&self, sql: &mut Transaction<'_>) -> Result<Vec<InboxMessage>, StoreError> {
        let own = u64::from(self.fault == FailureSource::Message);
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
            if self.fault == FailureSource::Message && is_set_aside_after(message.failures) {
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

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        let update = "UPDATE inbox SET state = 'staged', turn_id = NULL WHERE state = 'set_aside'";
        let put_back = sql.execute(update, values![]).await?;
        if put_back > 0 {
            sql.announce(StoreChange::Inbox);
        }
        Ok(put_back)
    }
}

struct PutBack(InboxId);

impl Operation for PutBack {
    type Output = InboxMessage;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<InboxMessage, StoreError> {
        // Clearing the failed turn also clears the retry delay.
        let update = "UPDATE inbox SET state = 'staged', turn_id = NULL
             WHERE id = ?1 AND (state = 'set_aside' OR (state = 'staged' AND attempts > 0))";
        if sql.execute(update, values![&self.0]).await? > 0 {
            sql.announce(StoreChange::Inbox);
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
