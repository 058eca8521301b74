//! Reads messages: the live history, all messages, and pending ones.

use foreword_core::history::History;
use foreword_core::id::ConversationId;
use foreword_core::message::Message;
use foreword_prompt::trust::Trust;

use super::{columns, message};
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

/// Which messages to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagePage {
    order: Order,
    limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    OldestFirst { after: u64 },
    NewestFirst { before: u64 },
}

impl MessagePage {
    /// The first `limit` messages after sequence number `after`, the oldest first; 0 is the start.
    #[must_use]
    pub fn after(after: u64, limit: u32) -> Self {
        Self { order: Order::OldestFirst { after }, limit }
    }

    /// The last `limit` messages before sequence number `before`, the newest first.
    #[must_use]
    pub fn before(before: u64, limit: u32) -> Self {
        Self { order: Order::NewestFirst { before }, limit }
    }

    /// The last `limit` messages, the newest first.
    #[must_use]
    pub fn newest(limit: u32) -> Self {
        Self::before(u64::MAX, limit)
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM messages ", $rest)
    };
}

pub(crate) const LAST_COMPACTION: &str = "SELECT number, covered_to, summary_seq FROM compactions
     WHERE conversation_id = ?1 ORDER BY number DESC LIMIT 1";
pub(crate) const ONE: &str = select!("WHERE conversation_id = ?1 AND seq = ?2");
pub(crate) const BEHIND: &str =
    select!("WHERE conversation_id = ?1 AND seq > ?2 AND kind <> 'summary' ORDER BY seq");
pub(crate) const OLDEST_FIRST: &str =
    select!("WHERE conversation_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
pub(crate) const NEWEST_FIRST: &str =
    select!("WHERE conversation_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3");
// Repeats the condition of the partial index, so that it is used.
pub(crate) const PENDING: &str = select!(
    "WHERE conversation_id = ?1 AND turn_id IS NULL AND role = 'user' AND kind = 'message' ORDER BY seq"
);
pub(crate) const WITH_PENDING: &str = "SELECT conversation_id, MIN(created_at) AS since FROM messages
     WHERE turn_id IS NULL AND role = 'user' AND kind = 'message'
     GROUP BY conversation_id ORDER BY since, conversation_id LIMIT ?1";

pub(super) struct Live(pub(super) ConversationId);

impl Operation for Live {
    type Output = History;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<History, StoreError> {
        live(sql, &self.0).await
    }
}

/// The history that models read now.
pub(crate) async fn live(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
) -> Result<History, StoreError> {
    let mut history = History::default();
    if let Some(row) = sql.query_optional(LAST_COMPACTION, values![conversation]).await? {
        (history.compaction, history.covered_to) = (row.get(0)?, row.get(1)?);
        let summary = row.get::<u64>(2)?;
        let rows = sql.query(ONE, values![conversation, summary]).await?;
        history.messages = rows.iter().map(message).collect::<Result<_, _>>()?;
    }
    let rows = sql.query(BEHIND, values![conversation, history.covered_to]).await?;
    for row in &rows {
        history.messages.push(message(row)?);
    }
    Ok(history)
}

pub(super) struct All(pub(super) ConversationId, pub(super) MessagePage);

impl Operation for All {
    type Output = Vec<Message>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Message>, StoreError> {
        let Self(conversation, MessagePage { order, limit }) = self;
        let (select, from) = match order {
            Order::OldestFirst { after } => (OLDEST_FIRST, *after),
            Order::NewestFirst { before } => (NEWEST_FIRST, *before),
        };
        sql.query(select, values![conversation, from, *limit]).await?.iter().map(message).collect()
    }
}

pub(super) struct Pending(pub(super) ConversationId);

impl Operation for Pending {
    type Output = Vec<Message>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Message>, StoreError> {
        sql.query(PENDING, values![&self.0]).await?.iter().map(message).collect()
    }
}

pub(super) struct WithPending(pub(super) u32);

impl Operation for WithPending {
    type Output = Vec<ConversationId>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<ConversationId>, StoreError> {
        sql.query(WITH_PENDING, values![self.0]).await?.iter().map(|row| row.parse(0)).collect()
    }
}

pub(crate) const TRUSTS: &str =
    "SELECT DISTINCT trust FROM messages WHERE conversation_id = ?1 AND role = 'user' AND kind = 'message'";

pub(super) struct HasWritten(pub(super) ConversationId, pub(super) String);

impl Operation for HasWritten {
    type Output = bool;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<bool, StoreError> {
        let select = "SELECT 1 FROM messages
            WHERE conversation_id = ?1 AND author = ?2 AND role = 'user' AND kind = 'message' LIMIT 1";
        Ok(sql.query_optional(select, values![&self.0, &self.1]).await?.is_some())
    }
}

pub(super) struct Audience(pub(super) ConversationId);

impl Operation for Audience {
    type Output = Option<Trust>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<Trust>, StoreError> {
        let mut least: Option<Trust> = None;
        for row in sql.query(TRUSTS, values![&self.0]).await? {
            let trust: Trust = row.parse(0)?;
            least = Some(least.map_or(trust, |least| least.meet(trust)));
        }
        Ok(least)
    }
}
