//! The end of a turn: its messages are taken out, its answers put in, and both remembered.

use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{Answered, Fault, HistoryLimits, Reply, exchanges};
use foreword_core::timestamp::Timestamp;
use foreword_core::zero_byte::without_zero_bytes;

use super::attempts::Failed;
use super::inbox::inbox_message;
use super::outbox::{NewOutboxMessage, outbox_message};
use crate::changes::Change;
use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::senders::{self, Recorded, TurnExchanges};
use crate::store::Store;

/// What a turn did with its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedBatch {
    /// The turn.
    pub turn: TurnId,
    /// When.
    pub at: Timestamp,
    /// The messages it has dealt with.
    pub consumed: Vec<InboxId>,
    /// The messages whose senders get no reply.
    pub unanswered: Unanswered,
    /// What it wrote.
    pub replies: Vec<NewOutboxMessage>,
    /// How much history is kept.
    pub limits: HistoryLimits,
}

/// Messages that stay pending although their turn has ended well. It counts as a failed attempt of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unanswered {
    /// Which.
    pub messages: Vec<InboxId>,
    /// Why, for the list of the inbox.
    pub reason: String,
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
    /// Takes a turn's answered messages out of the inbox, notes with the unanswered ones why they stay, puts its answers
    /// into the outbox and its exchanges into the senders' history: all of it or nothing. A turn that does this again, with the same answers or others, changes nothing.
    ///
    /// # Errors
    /// If a message is not there, or another turn has dealt with it, or it can't be written.
    pub async fn finish_batch(&self, batch: FinishedBatch) -> Result<Finished, StoreError> {
        self.run(Finish(batch)).await
    }
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
        let unanswered = Failed {
            messages: batch.unanswered.messages.clone(),
            turn: batch.turn.clone(),
            fault: Fault::Message,
            error: batch.unanswered.reason.clone(),
        };
        unanswered.note(sql).await?;
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
                None => return Err(aside(id)),
            },
        }
    }
    match before {
        // A turn deals with its messages once. If it has done so with some of these, its answers are out already.
        Some(id) if !taken.is_empty() => Err(taken_by("inbox message", id.as_str(), &batch.turn)),
        _ => Ok(taken),
    }
}

/// It was set aside while this turn was under way, because others had failed over it.
fn aside(id: &InboxId) -> StoreError {
    let reason = "it is set aside".to_owned();
    StoreError::Refused { what: "inbox message", id: id.to_string(), reason }
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
