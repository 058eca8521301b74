//! What others left for the agent.

use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::SenderAddress;
use foreword_core::timestamp::Timestamp;
use foreword_core::zero_byte::without_zero_bytes;

use crate::changes::Change;
use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

/// A message that somebody leaves for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInboxMessage {
    /// Its id, made by whoever brings it; the same id is the same message.
    pub id: InboxId,
    /// From whom.
    pub sender: SenderAddress,
    /// What it says. Zero bytes are replaced.
    pub body: String,
    /// When.
    pub at: Timestamp,
}

/// A message that somebody left for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    /// Which.
    pub id: InboxId,
    /// From whom.
    pub sender: SenderAddress,
    /// What it says, in full.
    pub body: String,
    /// When it came.
    pub received_at: Timestamp,
    /// The turn that has dealt with it, and when; until then it is staged.
    pub consumed: Option<(TurnId, Timestamp)>,
}

/// What became of a message that was brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Staged {
    /// It waits for a turn.
    New(InboxMessage),
    /// It had been brought before; this is what is stored.
    Again(InboxMessage),
}

impl Store {
    /// Puts a message into the inbox. The same message again is the first one.
    ///
    /// # Errors
    /// If another message has this id, or it can't be written.
    pub async fn stage(&self, new: NewInboxMessage) -> Result<Staged, StoreError> {
        self.run(Stage(new)).await
    }

    /// At most `limit` messages that wait for a turn, in the order they came.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn staged(&self, limit: u64) -> Result<Vec<InboxMessage>, StoreError> {
        self.run(ListStaged(limit)).await
    }

    /// A message of the inbox.
    ///
    /// # Errors
    /// If there is no such message, or it can't be read.
    pub async fn inbox_message(&self, id: &InboxId) -> Result<InboxMessage, StoreError> {
        self.run(GetInbox(id.clone())).await
    }
}

struct Stage(NewInboxMessage);

impl Operation for Stage {
    type Output = Staged;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Staged, StoreError> {
        let new = &self.0;
        let insert =
            "INSERT INTO inbox (id, sender, body, received_at, state) VALUES (?1, ?2, ?3, ?4, 'staged')
             ON CONFLICT (id) DO NOTHING";
        let body = without_zero_bytes(&new.body).into_owned();
        let inserted = sql.execute(insert, values![&new.id, new.sender.as_str(), &body, new.at]).await?;
        let message = inbox_message(sql, &new.id).await?;
        if inserted == 0 && (message.sender != new.sender || message.body != body) {
            return Err(StoreError::UsedBefore { what: "inbox id", id: new.id.to_string() });
        }
        if inserted == 0 {
            return Ok(Staged::Again(message));
        }
        sql.announce(Change::Inbox).await?;
        Ok(Staged::New(message))
    }
}

struct ListStaged(u64);

impl Operation for ListStaged {
    type Output = Vec<InboxMessage>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<InboxMessage>, StoreError> {
        let select = "SELECT id, sender, body, received_at, turn_id, consumed_at FROM inbox
             WHERE state = 'staged' ORDER BY seq LIMIT ?1";
        sql.query(select, values![self.0]).await?.iter().map(to_inbox_message).collect()
    }
}

struct GetInbox(InboxId);

impl Operation for GetInbox {
    type Output = InboxMessage;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<InboxMessage, StoreError> {
        inbox_message(sql, &self.0).await
    }
}

pub(super) async fn inbox_message<S: Sql>(sql: &mut S, id: &InboxId) -> Result<InboxMessage, StoreError> {
    let select = "SELECT id, sender, body, received_at, turn_id, consumed_at FROM inbox WHERE id = ?1";
    match sql.query_optional(select, values![id]).await? {
        Some(row) => to_inbox_message(&row),
        None => Err(StoreError::NotFound { what: "inbox message", id: id.to_string() }),
    }
}

fn to_inbox_message(row: &Row) -> Result<InboxMessage, StoreError> {
    let consumed = match row.parse_optional(4)? {
        Some(turn) => Some((turn, row.parse(5)?)),
        None => None,
    };
    Ok(InboxMessage {
        id: row.parse(0)?,
        sender: row.parse(1)?,
        body: row.get(2)?,
        received_at: row.parse(3)?,
        consumed,
    })
}
