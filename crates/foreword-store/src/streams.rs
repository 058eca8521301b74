//! What happens in conversations, numbered for whoever looks on, whichever node runs the turn. The numbers begin at 1, have no
//! gaps and are never given twice; the items are kept for a while, for what lasts is in the messages.

use foreword_core::id::{CallId, ConversationId};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn::Asked;
use foreword_prompt::trust::Trust;

use crate::changes::Change;
use crate::conversations::not_found;
use crate::engine::{Access, Operation, Row, Sql, Value, values};
use crate::error::StoreError;
use crate::store::Store;

/// Something that happens, before it has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStreamItem {
    /// Whoever is trusted less does not see it.
    pub trust: Trust,
    /// What it is, as JSON.
    pub item: String,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamItem {
    /// Its number in the conversation.
    pub seq: u64,
    /// Whoever is trusted less does not see it.
    pub trust: Trust,
    /// What it is, as JSON.
    pub item: String,
}

/// What is kept of a stream behind some number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPage {
    /// The items, in order. The first is not the one asked for where that is not kept any more.
    pub items: Vec<StreamItem>,
    /// The last number that was given, whether or not that item is kept.
    pub last: u64,
}

impl Store {
    /// Adds items at the end of a conversation's stream, all of them or none, and tells every node. Gives the number of the
    /// first.
    ///
    /// # Errors
    /// If there is no such conversation, or it can't be written.
    pub async fn append_stream(
        &self,
        conversation: &ConversationId,
        items: Vec<NewStreamItem>,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let append = Append { conversation: conversation.clone(), items, behind: None, at };
        self.run(append).await?.ok_or_else(|| not_found(conversation))
    }

    /// Adds an item at the end of a stream if its last number is still this one, and says whether it was.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn append_to_stream_at(
        &self,
        conversation: &ConversationId,
        (item, behind): (NewStreamItem, u64),
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let append =
            Append { conversation: conversation.clone(), items: vec![item], behind: Some(behind), at };
        Ok(self.run(append).await?.is_some())
    }

    /// At most `limit` items behind number `after`; 0 is the beginning.
    ///
    /// # Errors
    /// If there is no such conversation, or it can't be read.
    pub async fn stream(
        &self,
        conversation: &ConversationId,
        after: u64,
        limit: u32,
    ) -> Result<StreamPage, StoreError> {
        self.run(Read { conversation: conversation.clone(), after, limit }).await
    }

    /// Deletes at most about `slice` items from before `before`, oldest first and never out of the middle; those of a
    /// conversation in which a turn runs stay. Says how many were deleted.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn prune_streams(&self, before: Timestamp, slice: u32) -> Result<u64, StoreError> {
        self.run(Prune { before, slice }).await
    }

    /// Asks whichever node runs a turn in a conversation to stop it.
    ///
    /// # Errors
    /// If it can't be told.
    pub async fn ask_to_cancel(&self, conversation: &ConversationId) -> Result<(), StoreError> {
        self.run(Tell(Change::Cancel(conversation.clone()))).await
    }

    /// Tells whichever node runs a turn in a conversation what the owner has answered it. Whoever calls this knows that it was
    /// the owner.
    ///
    /// # Errors
    /// If it can't be told.
    pub async fn pass_on_answer(
        &self,
        conversation: &ConversationId,
        (call, answer): (CallId, Asked),
    ) -> Result<(), StoreError> {
        self.run(Tell(Change::Answer { conversation: conversation.clone(), call, answer })).await
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
    /// The last number there has to be.
    behind: Option<u64>,
    at: Timestamp,
}

impl Operation for Append {
    type Output = Option<u64>;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Option<u64>, StoreError> {
        let (id, count) = (&self.conversation, self.items.len() as u64);
        // The row itself is what others who number wait for: the turn's own writes go by another lock.
        let row = match self.behind {
            None => sql.query_optional(NUMBER, values![id, count]).await?,
            Some(behind) => sql.query_optional(NUMBER_AT, values![id, count, behind]).await?,
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
        sql.announce(Change::Stream { conversation: id.clone(), last }).await?;
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<StreamPage, StoreError> {
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        let select = "SELECT conversation_id, MAX(seq) FROM (
                SELECT conversation_id, seq FROM stream_items AS items WHERE at < ?1 AND NOT EXISTS (
                    SELECT 1 FROM turns WHERE turns.conversation_id = items.conversation_id AND turns.state = 'running')
                ORDER BY at LIMIT ?2) AS old
            GROUP BY conversation_id ORDER BY conversation_id";
        let mut deleted = 0;
        for row in sql.query(select, values![self.before, self.slice]).await? {
            // Clocks differ between nodes: what goes is always a beginning.
            let delete = "DELETE FROM stream_items WHERE conversation_id = ?1 AND seq <= ?2";
            deleted += sql.execute(delete, values![row.get::<String>(0)?, row.get::<u64>(1)?]).await?;
        }
        Ok(deleted)
    }
}

/// Tells other nodes something that is kept nowhere.
struct Tell(Change);

impl Operation for Tell {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        sql.announce(self.0.clone()).await
    }
}
