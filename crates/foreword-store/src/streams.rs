//! The event stream of a conversation, for clients that watch it from any node. Items are numbered from 1 without
//! gaps, and numbers are never reused. Items are pruned after a while; the messages are the permanent record.

use foreword_core::id::{CallId, ConversationId};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn::OwnerAnswer;
use foreword_prompt::trust::Trust;

use crate::changes::StoreChange;
use crate::conversation_lock::not_found;
use crate::engine::{Access, Operation, Row, Transaction, Value, values};
use crate::error::StoreError;
use crate::store::Store;

/// An item to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStreamItem {
    /// The minimum trust for seeing it.
    pub trust: Trust,
    /// The item as JSON.
    pub item: String,
}

/// An item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamItem {
    /// Its number in the conversation.
    pub seq: u64,
    /// The minimum trust for seeing it.
    pub trust: Trust,
    /// The item as JSON.
    pub item: String,
}

/// A page of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPage {
    /// The items, in order. If the requested ones were pruned, it begins later.
    pub items: Vec<StreamItem>,
    /// The highest number allocated so far, even if that item was pruned.
    pub last: u64,
}

impl Store {
    /// Appends items to a conversation's stream in one transaction, and notifies every node. Returns the number of
    /// the first.
    ///
    /// # Errors
    /// If there is no such conversation, or the database can't be written.
    pub async fn append_stream(
        &self,
        conversation: &ConversationId,
        items: Vec<NewStreamItem>,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let append = Append { conversation: conversation.clone(), items, expected: None, at };
        self.run(append).await?.ok_or_else(|| not_found(conversation))
    }

    /// Appends an item if the last number still is `last`. Returns whether it was.
    pub async fn append_to_stream_at(
        &self,
        conversation: &ConversationId,
        item: NewStreamItem,
        last: u64,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let append =
            Append { conversation: conversation.clone(), items: vec![item], expected: Some(last), at };
        Ok(self.run(append).await?.is_some())
    }

    /// At most `limit` items after number `after`; 0 is the start.
    ///
    /// # Errors
    /// If there is no such conversation, or the database can't be read.
    pub async fn stream(
        &self,
        conversation: &ConversationId,
        after: u64,
        limit: u32,
    ) -> Result<StreamPage, StoreError> {
        self.run(Read { conversation: conversation.clone(), after, limit }).await
    }

    /// Deletes about `slice` items from before `before` at most, always a prefix of a stream. Skips conversations
    /// with a running turn. Returns how many.
    pub async fn prune_streams(&self, before: Timestamp, slice: u32) -> Result<u64, StoreError> {
        self.run(Prune { before, slice }).await
    }

    /// Asks the node that runs a turn in a conversation to cancel it.
    ///
    /// # Errors
    /// If the notification can't be sent.
    pub async fn request_cancel(&self, conversation: &ConversationId) -> Result<(), StoreError> {
        self.run(Notify(StoreChange::Cancel(conversation.clone()))).await
    }

    /// Sends the owner's answer to the node that runs a turn in a conversation. The caller has authenticated the
    /// owner.
    ///
    /// # Errors
    /// If the notification can't be sent.
    pub async fn send_answer(
        &self,
        conversation: &ConversationId,
        call: CallId,
        answer: OwnerAnswer,
    ) -> Result<(), StoreError> {
        self.run(Notify(StoreChange::Answer { conversation: conversation.clone(), call, answer })).await
    }
}

const NUMBER: &str =
    "UPDATE conversations SET stream_seq = stream_seq + ?2 WHERE id = ?1 RETURNING stream_seq";
const NUMBER_AT: &str =
    "UPDATE conversations SET stream_seq = stream_seq + ?2 WHERE id = ?1 AND stream_seq = ?3
     RETURNING stream_seq";

struct Append {
    conversation: ConversationId,
    items: Vec<NewStreamItem>,
    /// The expected last number.
    expected: Option<u64>,
    at: Timestamp,
}

impl Operation for Append {
    type Output = Option<u64>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<u64>, StoreError> {
        let (id, count) = (&self.conversation, self.items.len() as u64);
        // The row lock serialises numbering. The turn's own writes use another lock.
        let row = match self.expected {
            None => sql.query_optional(NUMBER, values![id, count]).await?,
            Some(last) => sql.query_optional(NUMBER_AT, values![id, count, last]).await?,
        };
        let Some(row) = row else { return Ok(None) };
        let last: u64 = row.get(0)?;
        let first = last + 1 - count;
        let rows: Vec<Vec<Value>> = (first..)
            .zip(&self.items)
            .map(|(seq, new)| {
                vec![id.into(), seq.into(), self.at.into(), new.trust.into(), new.item.as_str().into()]
            })
            .collect();
        sql.insert_many("INSERT INTO stream_items (conversation_id, seq, at, trust, item)", &rows).await?;
        sql.announce(StoreChange::Stream { conversation: id.clone(), last });
        Ok(Some(first))
    }
}

struct Read {
    conversation: ConversationId,
    after: u64,
    limit: u32,
}

impl Operation for Read {
    type Output = StreamPage;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<StreamPage, StoreError> {
        let id = &self.conversation;
        let select = "SELECT stream_seq FROM conversations WHERE id = ?1";
        let row = sql.query_optional(select, values![id]).await?.ok_or_else(|| not_found(id))?;
        let last: u64 = row.get(0)?;
        if self.after >= last || self.limit == 0 {
            return Ok(StreamPage { items: Vec::new(), last });
        }
        let select = "SELECT seq, trust, item FROM stream_items
            WHERE conversation_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
        let rows = sql.query(select, values![id, self.after, self.limit]).await?;
        let items = rows.iter().map(item).collect::<Result<_, _>>()?;
        Ok(StreamPage { items, last })
    }
}

fn item(row: &Row) -> Result<StreamItem, StoreError> {
    Ok(StreamItem { seq: row.get(0)?, trust: row.parse(1)?, item: row.get(2)? })
}

struct Prune {
    before: Timestamp,
    slice: u32,
}

impl Operation for Prune {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        let select = "SELECT conversation_id, MAX(seq) FROM (
                SELECT conversation_id, seq FROM stream_items AS items WHERE at < ?1 AND NOT EXISTS (
                    SELECT 1 FROM turns WHERE turns.conversation_id = items.conversation_id AND turns.state = 'running')
                ORDER BY at LIMIT ?2) AS old
            GROUP BY conversation_id ORDER BY conversation_id";
        let mut deleted = 0;
        for row in sql.query(select, values![self.before, self.slice]).await? {
            // Clocks differ between nodes, so delete a prefix by number.
            let delete = "DELETE FROM stream_items WHERE conversation_id = ?1 AND seq <= ?2";
            deleted += sql.execute(delete, values![row.get::<String>(0)?, row.get::<u64>(1)?]).await?;
        }
        Ok(deleted)
    }
}

/// Sends a notification without storing anything.
struct Notify(StoreChange);

impl Operation for Notify {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        sql.announce(self.0.clone());
        Ok(())
    }
}
