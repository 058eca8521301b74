//! Answers on their way to bridges. An answer is found among the turns that have ended, so that it is sent whichever node has
//! made it and whatever has died meanwhile; it is noted once for each turn, and sent by one node at a time until it is taken
//! or given up.
//!
//! A turn's answer goes out if everything it answers came in over the channel of its conversation, under a key of
//! [`scope`]: what somebody says there from elsewhere is not for the ears of the channel.

mod answers;
mod sending;

use foreword_core::id::{ConversationId, DeliveryId, MessageId, TurnId};
use foreword_core::timestamp::Timestamp;
use serde_json::Value;

use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

pub use answers::ChannelAnswer;
pub use sending::{ClaimDeliveries, Sent};

/// Whose keys the messages of a channel have.
///
/// ```
/// assert_eq!(foreword_store::deliveries::scope("signal:group-7"), "channel signal:group-7");
/// ```
#[must_use]
pub fn scope(channel: &str) -> String {
    format!("channel {channel}")
}

/// An answer to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDelivery {
    /// Its id, which a bridge knows it by.
    pub id: DeliveryId,
    /// The family of the channel.
    pub family: String,
    /// Where it goes.
    pub channel: String,
    /// The conversation.
    pub conversation: ConversationId,
    /// The turn that gave it.
    pub turn: TurnId,
    /// The message it answers.
    pub in_reply_to: Option<MessageId>,
    /// What the bridge gets.
    pub body: Value,
    /// When.
    pub at: Timestamp,
}

/// An answer on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The order they were noted in.
    pub number: u64,
    /// Its id.
    pub id: DeliveryId,
    /// The family of the channel.
    pub family: String,
    /// Where it goes.
    pub channel: String,
    /// The conversation.
    pub conversation: ConversationId,
    /// The turn that gave it.
    pub turn: Option<TurnId>,
    /// The message it answers.
    pub in_reply_to: Option<MessageId>,
    /// What the bridge gets.
    pub body: Value,
    /// When it was noted.
    pub created_at: Timestamp,
    /// When it is tried next.
    pub due_at: Timestamp,
    /// How often it was tried.
    pub attempts: u64,
    /// When it was taken.
    pub delivered_at: Option<Timestamp>,
    /// When it was given up.
    pub gave_up_at: Option<Timestamp>,
    /// What went wrong last.
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
    /// Notes that an answer is to be sent. Says whether that is news.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn add_delivery(&self, new: NewDelivery) -> Result<bool, StoreError> {
        self.run(Add(new)).await
    }

    /// At most `limit` of them, the newest first, older than number `before`.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn deliveries(&self, before: Option<u64>, limit: u64) -> Result<Vec<Delivery>, StoreError> {
        self.run(List { before, limit }).await
    }
}

struct Add(NewDelivery);

impl Operation for Add {
    type Output = bool;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<bool, StoreError> {
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Delivery>, StoreError> {
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
