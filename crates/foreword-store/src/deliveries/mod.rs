//! Deliveries of answers to bridges. Finished turns without a delivery are found by a query, so every answer is sent
//! even if the node that ran the turn crashes. A turn has at most one delivery, and one node at a time sends it until
//! the bridge accepts it or the node gives up.
//!
//! A turn's answer is delivered only if all messages it answers came in over the conversation's channel, with an
//! idempotency key in [`scope`]. Answers to messages from elsewhere, such as the web page, stay off the channel.

mod answers;
mod send;

use foreword_core::id::{ConversationId, DeliveryId, MessageId, TurnId};
use foreword_core::timestamp::Timestamp;
use serde_json::Value;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

pub use answers::ChannelAnswer;
pub use send::{ClaimDeliveries, SendOutcome};

/// The idempotency scope of a channel's messages.
///
/// ```
/// assert_eq!(foreword_store::deliveries::scope("signal:group-7"), "channel signal:group-7");
/// ```
#[must_use]
pub fn scope(channel: &str) -> String {
    format!("channel {channel}")
}

/// A delivery to add.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDelivery {
    /// Its id, which the bridge receives too.
    pub id: DeliveryId,
    /// The family of the channel.
    pub family: String,
    /// The target channel.
    pub channel: String,
    pub conversation: ConversationId,
    /// The turn that produced the answer.
    pub turn: TurnId,
    /// The message it answers.
    pub in_reply_to: Option<MessageId>,
    /// The JSON body sent to the bridge.
    pub body: Value,
    /// The creation time.
    pub at: Timestamp,
}

/// A delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// Its number, in order of creation.
    pub number: u64,
    pub id: DeliveryId,
    /// The family of the channel.
    pub family: String,
    /// The target channel.
    pub channel: String,
    pub conversation: ConversationId,
    /// The turn that produced the answer.
    pub turn: Option<TurnId>,
    /// The message it answers.
    pub in_reply_to: Option<MessageId>,
    /// The JSON body sent to the bridge.
    pub body: Value,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the next attempt is due.
    pub due_at: Timestamp,
    /// How many attempts were made.
    pub attempts: u64,
    /// When the bridge accepted it.
    pub delivered_at: Option<Timestamp>,
    /// When sending was given up.
    pub gave_up_at: Option<Timestamp>,
    /// The last error.
    pub error: Option<String>,
}

macro_rules! columns {
    () => {
        "seq, id, family, channel, conversation_id, turn_id, in_reply_to, body, created_at, due_at, attempts, \
         delivered_at, gave_up_at, error"
    };
}
use columns;

impl Store {
    /// Adds a delivery. Returns whether it is new.
    pub async fn add_delivery(&self, new: NewDelivery) -> Result<bool, StoreError> {
        self.run(Add(new)).await
    }

    /// At most `limit` deliveries with numbers below `before`, the newest first.
    pub async fn deliveries(&self, before: Option<u64>, limit: u64) -> Result<Vec<Delivery>, StoreError> {
        self.run(List { before, limit }).await
    }
}

struct Add(NewDelivery);

impl Operation for Add {
    type Output = bool;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<bool, StoreError> {
        let new = &self.0;
        let insert = "INSERT INTO deliveries
            (id, family, channel, conversation_id, turn_id, in_reply_to, body, created_at, due_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) ON CONFLICT DO NOTHING";
        let values = values![
            &new.id,
            &new.family,
            &new.channel,
            &new.conversation,
            &new.turn,
            new.in_reply_to.as_ref(),
            &new.body,
            new.at,
        ];
        Ok(sql.execute(insert, values).await? > 0)
    }
}

struct List {
    before: Option<u64>,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Delivery>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Delivery>, StoreError> {
        let select =
            concat!("SELECT ", columns!(), " FROM deliveries WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2");
        let before = self.before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
        sql.query(select, values![before, self.limit]).await?.iter().map(delivery).collect()
    }
}

fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        number: row.get(0)?,
        id: row.parse(1)?,
        family: row.get(2)?,
        channel: row.get(3)?,
        conversation: row.parse(4)?,
        turn: row.parse_optional(5)?,
        in_reply_to: row.parse_optional(6)?,
        body: row.json(7)?,
        created_at: row.parse(8)?,
        due_at: row.parse(9)?,
        attempts: row.get(10)?,
        delivered_at: row.parse_optional(11)?,
        gave_up_at: row.parse_optional(12)?,
        error: row.get(13)?,
    })
}
