//! What others left for the agent, and what the agent left for them, in full. A message is durable before whoever
//! brought it is told; a turn takes its messages out, answers and remembers in one step, so that a crash leaves all of it
//! or nothing.

use foreword_core::id::{InboxId, OutboxId, TurnId};
use foreword_core::sender::{Answered, HistoryLimits, Reply, SenderAddress, exchanges};
use foreword_core::timestamp::Timestamp;
use foreword_core::zero_byte::without_zero_bytes;

use crate::changes::Change;
use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::senders::{self, Recorded, TurnExchanges};
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

/// A message that the agent leaves for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutboxMessage {
    /// Its id.
    pub id: OutboxId,
    /// To whom.
    pub recipient: SenderAddress,
    /// What it says. Zero bytes are replaced.
    pub body: String,
    /// The message it answers.
    pub in_reply_to: Option<InboxId>,
}

/// A message that the agent left for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxMessage {
    /// Which.
    pub id: OutboxId,
    /// To whom.
    pub recipient: SenderAddress,
    /// What it says, in full.
    pub body: String,
    /// The message it answers.
    pub in_reply_to: Option<InboxId>,
    /// The turn that wrote it.
    pub turn: TurnId,
    /// When it was written.
    pub at: Timestamp,
    /// When it was delivered.
    pub delivered_at: Option<Timestamp>,
    /// How often delivery was tried.
    pub attempts: u64,
}

/// What a turn did with its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedBatch {
    /// The turn.
    pub turn: TurnId,
    /// When.
    pub at: Timestamp,
    /// The messages it has dealt with, answered or not.
    pub consumed: Vec<InboxId>,
    /// What it wrote.
    pub replies: Vec<NewOutboxMessage>,
    /// How much history is kept.
    pub limits: HistoryLimits,
}

/// What became of a finished batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finished {
    /// It is stored. Senders whose exchanges were not kept are named.
    Now(Recorded),
    /// It had been stored before, and was left as it is.
    Before,
}

impl Store {
    /// Puts a message into the inbox.
    ///
    /// # Errors
    /// If it can't be written.
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

    /// Takes a turn's messages out of the inbox, puts its answers into the outbox and its exchanges into the senders'
    /// history: all of it or nothing. A turn that does this again, with the same answers or others, changes nothing.
    ///
    /// # Errors
    /// If a message is not there, or another turn has dealt with it, or it can't be written.
    pub async fn finish_batch(&self, batch: FinishedBatch) -> Result<Finished, StoreError> {
        self.run(Finish(batch)).await
    }

    /// A message of the outbox.
    ///
    /// # Errors
    /// If there is no such message, or it can't be read.
    pub async fn outbox_message(&self, id: &OutboxId) -> Result<OutboxMessage, StoreError> {
        self.run(GetOutbox(id.clone())).await
    }

    /// At most `limit` messages that were not delivered yet, in the order they were written.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn undelivered(&self, limit: u64) -> Result<Vec<OutboxMessage>, StoreError> {
        self.run(ListUndelivered(limit)).await
    }

    /// Notes that delivery was tried, and when it succeeded, if it did. What was delivered stays so.
    ///
    /// # Errors
    /// If there is no such message, or it can't be written.
    pub async fn delivery_tried(
        &self,
        id: &OutboxId,
        delivered: Option<Timestamp>,
    ) -> Result<OutboxMessage, StoreError> {
        self.run(Tried { id: id.clone(), delivered }).await
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
        let inserted = sql.execute(insert, values![&new.id, new.sender.as_str(), body, new.at]).await?;
        let message = inbox_message(sql, &new.id).await?;
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

async fn inbox_message<S: Sql>(sql: &mut S, id: &InboxId) -> Result<InboxMessage, StoreError> {
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

struct Finish(FinishedBatch);

impl Operation for Finish {
    type Output = Finished;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Finished, StoreError> {
        let batch = &self.0;
        sql.lock(senders::LOCK).await?;
        let messages = consume(sql, batch).await?;
        if messages.is_empty() && !batch.consumed.is_empty() {
            return Ok(Finished::Before);
        }
        for reply in &batch.replies {
            send(sql, batch, reply).await?;
        }
        let replies: Vec<Reply> = batch.replies.iter().map(reply).collect();
        let turn = TurnExchanges {
            exchanges: exchanges(&messages, &replies, &batch.turn, batch.at),
            active: messages.iter().map(|message| message.sender.clone()).collect(),
            at: batch.at,
            limits: batch.limits,
        };
        let recorded = senders::record(sql, &turn).await?;
        sql.announce(Change::Inbox).await?;
        Ok(Finished::Now(recorded))
    }
}

fn reply(new: &NewOutboxMessage) -> Reply {
    Reply { recipient: new.recipient.clone(), in_reply_to: new.in_reply_to.clone(), body: new.body.clone() }
}

/// Takes the batch's messages out of the inbox: all of them, or none if this turn has done so before.
async fn consume<S: Sql>(sql: &mut S, batch: &FinishedBatch) -> Result<Vec<Answered>, StoreError> {
    let mut taken = Vec::new();
    let mut before = None;
    for id in &batch.consumed {
        if taken.iter().any(|message: &Answered| message.id == *id) {
            continue;
        }
        let update = "UPDATE inbox SET state = 'consumed', turn_id = ?2, consumed_at = ?3
             WHERE id = ?1 AND state = 'staged' RETURNING sender, body";
        match sql.query_optional(update, values![id, &batch.turn, batch.at]).await? {
            Some(row) => taken.push(Answered { id: id.clone(), sender: row.parse(0)?, body: row.get(1)? }),
            None => match inbox_message(sql, id).await?.consumed {
                Some((turn, _)) if turn == batch.turn => before = Some(id),
                Some((turn, _)) => return Err(taken_by("inbox message", id.as_str(), &turn)),
                None => return Err(StoreError::Unreadable { what: format!("the state of message `{id}`") }),
            },
        }
    }
    match before {
        // A turn deals with its messages once. If it has done so with some of these, its answers are out already.
        Some(id) if !taken.is_empty() => Err(taken_by("inbox message", id.as_str(), &batch.turn)),
        _ => Ok(taken),
    }
}

fn taken_by(what: &'static str, id: &str, turn: &TurnId) -> StoreError {
    StoreError::Taken { what, id: id.to_owned(), turn: turn.to_string() }
}

/// Puts a message into the outbox. If it is there already, it must be this turn's.
async fn send<S: Sql>(sql: &mut S, batch: &FinishedBatch, new: &NewOutboxMessage) -> Result<(), StoreError> {
    let insert = "INSERT INTO outbox (id, recipient, body, in_reply_to, turn_id, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING";
    let body = without_zero_bytes(&new.body).into_owned();
    let row = values![&new.id, new.recipient.as_str(), body, new.in_reply_to.as_ref(), &batch.turn, batch.at];
    if sql.execute(insert, row).await? > 0 {
        return Ok(());
    }
    let there = outbox_message(sql, &new.id).await?;
    if there.turn == batch.turn {
        Ok(())
    } else {
        Err(taken_by("outbox message", new.id.as_str(), &there.turn))
    }
}

struct GetOutbox(OutboxId);

impl Operation for GetOutbox {
    type Output = OutboxMessage;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<OutboxMessage, StoreError> {
        outbox_message(sql, &self.0).await
    }
}

async fn outbox_message<S: Sql>(sql: &mut S, id: &OutboxId) -> Result<OutboxMessage, StoreError> {
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<OutboxMessage>, StoreError> {
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<OutboxMessage, StoreError> {
        let update = "UPDATE outbox SET attempts = attempts + 1, delivered_at = COALESCE(delivered_at, ?2) WHERE id = ?1";
        sql.execute(update, values![&self.id, self.delivered]).await?;
        outbox_message(sql, &self.id).await
    }
}

fn to_outbox_message(row: &Row) -> Result<OutboxMessage, StoreError> {
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
