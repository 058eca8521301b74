//! Finishes a turn over inbox messages: consumes the messages, stores the replies, and updates the senders' history.

use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{AnsweredMessage, FailureSource, HistoryLimits, SenderReply, exchanges};
use foreword_core::timestamp::Timestamp;
use foreword_core::zero_byte::without_zero_bytes;

use super::attempts::Failed;
use super::inbox::inbox_message;
use super::outbox::{NewOutboxMessage, outbox_message};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::senders::{self, RecordedExchanges, TurnExchanges};
use crate::store::Store;

/// The result of a turn over inbox messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedBatch {
    pub turn: TurnId,
    /// The current time.
    pub at: Timestamp,
    /// The messages it has consumed.
    pub consumed: Vec<InboxId>,
    /// The messages without a reply.
    pub unanswered: Unanswered,
    pub replies: Vec<NewOutboxMessage>,
    /// The limits of the senders' history.
    pub limits: HistoryLimits,
}

/// Messages that stay pending although their turn succeeded. It counts as a failed attempt for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unanswered {
    pub messages: Vec<InboxId>,
    /// The reason, shown in the inbox list.
    pub reason: String,
}

/// The outcome of finishing a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchOutcome {
    /// Stored. Lists the senders whose exchanges were not recorded.
    Now(RecordedExchanges),
    /// Stored before, and unchanged.
    Before,
}

impl Store {
    /// Consumes a turn's answered messages, records why unanswered ones stay, adds the replies to the outbox and the
    /// exchanges to the senders' history, in one transaction. Repeating it for the same turn changes nothing, even
    /// with other replies.
    ///
    /// # Errors
    /// If there is no such message, another turn has consumed it, or the database can't be written.
    pub async fn finish_batch(&self, batch: FinishedBatch) -> Result<BatchOutcome, StoreError> {
        self.run(Finish(batch)).await
    }
}

struct Finish(FinishedBatch);

impl Operation for Finish {
    type Output = BatchOutcome;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<BatchOutcome, StoreError> {
        let batch = &self.0;
        sql.lock(senders::LOCK).await?;
        let messages = consume(sql, batch).await?;
        if messages.is_empty() && !batch.consumed.is_empty() {
            return Ok(BatchOutcome::Before);
        }
        let unanswered = Failed {
            messages: batch.unanswered.messages.clone(),
            turn: batch.turn.clone(),
            fault: FailureSource::Message,
            error: batch.unanswered.reason.clone(),
        };
        unanswered.note(sql).await?;
        for reply in &batch.replies {
            send(sql, batch, reply).await?;
        }
        let replies: Vec<SenderReply> = batch.replies.iter().map(reply).collect();
        let turn = TurnExchanges {
            exchanges: exchanges(&messages, &replies, &batch.turn, batch.at),
            active: messages.iter().map(|message| message.sender.clone()).collect(),
            at: batch.at,
            limits: batch.limits,
        };
        let recorded = senders::record(sql, &turn).await?;
        sql.announce(StoreChange::Inbox);
        Ok(BatchOutcome::Now(recorded))
    }
}

fn reply(new: &NewOutboxMessage) -> SenderReply {
    SenderReply {
        recipient: new.recipient.clone(),
        in_reply_to: new.in_reply_to.clone(),
        body: new.body.clone(),
    }
}

/// Consumes the batch's messages: all of them, or none if this turn has done so before.
async fn consume(
    sql: &mut Transaction<'_>,
    batch: &FinishedBatch,
) -> Result<Vec<AnsweredMessage>, StoreError> {
    let mut taken = Vec::new();
    let mut before = None;
    for id in &batch.consumed {
        if taken.iter().any(|message: &AnsweredMessage| message.id == *id) {
            continue;
        }
        let update = "UPDATE inbox SET state = 'consumed', turn_id = ?2, consumed_at = ?3
             WHERE id = ?1 AND state = 'staged' RETURNING sender, body";
        match sql.query_optional(update, values![id, &batch.turn, batch.at]).await? {
            Some(row) => {
                taken.push(AnsweredMessage { id: id.clone(), sender: row.parse(0)?, body: row.get(1)? })
            }
            None => match inbox_message(sql, id).await?.consumed {
                Some((turn, _)) if turn == batch.turn => before = Some(id),
                Some((turn, _)) => return Err(taken_by("inbox message", id.as_str(), &turn)),
                None => return Err(aside(id)),
            },
        }
    }
    match before {
        // A turn consumes its messages once. If it has consumed some of these, its replies are stored already.
        Some(id) if !taken.is_empty() => Err(taken_by("inbox message", id.as_str(), &batch.turn)),
        _ => Ok(taken),
    }
}

/// The error if the message was set aside while this turn was running.
fn aside(id: &InboxId) -> StoreError {
    let reason = "it is set aside".to_owned();
    StoreError::Refused { what: "inbox message", id: id.to_string(), reason }
}

fn taken_by(what: &'static str, id: &str, turn: &TurnId) -> StoreError {
    StoreError::Taken { what, id: id.to_owned(), turn: turn.to_string() }
}

/// Adds a message to the outbox. An existing one must be of this turn.
async fn send(
    sql: &mut Transaction<'_>,
    batch: &FinishedBatch,
    new: &NewOutboxMessage,
) -> Result<(), StoreError> {
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
