//! The outbox: messages from the agent, and their delivery.

use foreword_core::id::{InboxId, OutboxId, TurnId};
use foreword_core::sender::SenderAddress;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// A message to add to the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutboxMessage {
    pub id: OutboxId,
    pub recipient: SenderAddress,
    /// The text. Zero bytes are replaced.
    pub body: String,
    /// The message it answers.
    pub in_reply_to: Option<InboxId>,
}

/// A message in the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxMessage {
    pub id: OutboxId,
    pub recipient: SenderAddress,
    /// The full text.
    pub body: String,
    /// The message it answers.
    pub in_reply_to: Option<InboxId>,
    /// The turn that wrote it.
    pub turn: TurnId,
    /// When it was written.
    pub at: Timestamp,
    /// When it was delivered.
    pub delivered_at: Option<Timestamp>,
    /// The number of delivery attempts.
    pub attempts: u64,
}

impl Store {
    /// A message of the outbox.
    ///
    /// # Errors
    /// If there is no such message, or the database can't be read.
    pub async fn outbox_message(&self, id: &OutboxId) -> Result<OutboxMessage, StoreError> {
        self.run(GetOutbox(id.clone())).await
    }

    /// At most `limit` undelivered messages, the oldest first.
    pub async fn undelivered(&self, limit: u64) -> Result<Vec<OutboxMessage>, StoreError> {
        self.run(ListUndelivered(limit)).await
    }

    /// Records a delivery attempt, and the delivery time if it succeeded. A delivered message stays delivered.
    ///
    /// # Errors
    /// If there is no such message, or the database can't be written.
    pub async fn delivery_tried(
        &self,
        id: &OutboxId,
        delivered: Option<Timestamp>,
    ) -> Result<OutboxMessage, StoreError> {
        self.run(Tried { id: id.clone(), delivered }).await
    }
}

struct GetOutbox(OutboxId);

impl Operation for GetOutbox {
    type Output = OutboxMessage;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<OutboxMessage, StoreError> {
        outbox_message(sql, &self.0).await
    }
}

pub(super) async fn outbox_message(
    sql: &mut Transaction<'_>,
    id: &OutboxId,
) -> Result<OutboxMessage, StoreError> {
    let select =
        "SELECT id, recipient, body, in_reply_to, turn_id, created_at, delivered_at, attempts FROM outbox
         WHERE id = ?1";
    match sql.query_optional(select, values![id]).await? {
        Some(row) => to_outbox_message(&row),
        None => Err(StoreError::NotFound { what: "outbox message", id: id.to_string() }),
    }
}

struct ListUndelivered(u64);

impl Operation for ListUndelivered {
    type Output = Vec<OutboxMessage>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<OutboxMessage>, StoreError> {
        let select =
            "SELECT id, recipient, body, in_reply_to, turn_id, created_at, delivered_at, attempts FROM outbox
             WHERE delivered_at IS NULL ORDER BY seq LIMIT ?1";
        sql.query(select, values![self.0]).await?.iter().map(to_outbox_message).collect()
    }
}

struct Tried {
    id: OutboxId,
    delivered: Option<Timestamp>,
}

impl Operation for Tried {
    type Output = OutboxMessage;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<OutboxMessage, StoreError> {
        let update = "UPDATE outbox SET attempts = attempts + 1, delivered_at = COALESCE(delivered_at, ?2) WHERE id = ?1";
        sql.execute(update, values![&self.id, self.delivered]).await?;
        outbox_message(sql, &self.id).await
    }
}

pub(super) fn to_outbox_message(row: &Row) -> Result<OutboxMessage, StoreError> {
    Ok(OutboxMessage {
        id: row.parse(0)?,
        recipient: row.parse(1)?,
        body: row.get(2)?,
        in_reply_to: row.parse_optional(3)?,
        turn: row.parse(4)?,
        at: row.parse(5)?,
        delivered_at: row.parse_optional(6)?,
        attempts: row.get(7)?,
    })
}
