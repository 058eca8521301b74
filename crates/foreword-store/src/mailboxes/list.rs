//! Lists inbox and outbox.

use foreword_core::id::InboxId;
use foreword_core::sender::{InboxState, WaitingMessage};

use super::inbox::{InboxMessage, columns, to_inbox_message};
use super::outbox::{OutboxMessage, to_outbox_message};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// At most `limit` messages of the inbox, the newest first, filtered by `state` if given.
    pub async fn inbox_messages(
        &self,
        state: Option<InboxState>,
        limit: u64,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        self.inbox_page(state, None, limit).await
    }

    /// As [`Store::inbox_messages`], for messages older than `before`.
    pub async fn inbox_page(
        &self,
        state: Option<InboxState>,
        before: Option<&InboxId>,
        limit: u64,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        self.run(Inbox { state, before: before.cloned(), limit }).await
    }

    /// At most `limit` staged messages without their texts, the oldest first, for choosing a batch.
    pub async fn waiting(&self, limit: u64) -> Result<Vec<WaitingMessage>, StoreError> {
        self.run(Oldest(limit)).await
    }

    /// These messages of the inbox, in the given order. Unknown ids are skipped.
    pub async fn inbox_batch(&self, ids: &[InboxId]) -> Result<Vec<InboxMessage>, StoreError> {
        self.run(GetMessages(ids.to_vec())).await
    }

    /// At most `limit` messages of the outbox, the newest first.
    pub async fn outbox_messages(&self, limit: u64) -> Result<Vec<OutboxMessage>, StoreError> {
        self.run(Outbox(limit)).await
    }
}

struct Inbox {
    state: Option<InboxState>,
    before: Option<InboxId>,
    limit: u64,
}

macro_rules! select_in {
    ($state:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM inbox WHERE state = '",
            $state,
            "' AND seq < ?2 ORDER BY seq DESC LIMIT ?1"
        )
    };
}

impl Operation for Inbox {
    type Output = Vec<InboxMessage>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<InboxMessage>, StoreError> {
        // One statement per case, so that each uses its own index.
        let select = match self.state {
            None => concat!("SELECT ", columns!(), " FROM inbox WHERE seq < ?2 ORDER BY seq DESC LIMIT ?1"),
            Some(InboxState::Staged) => select_in!("staged"),
            Some(InboxState::SetAside) => select_in!("set_aside"),
            Some(InboxState::Consumed) => select_in!("consumed"),
        };
        let before = match &self.before {
            None => u64::MAX,
            Some(id) => {
                let row = sql.query_optional("SELECT seq FROM inbox WHERE id = ?1", values![id]).await?;
                let unknown = || StoreError::NotFound { what: "inbox message", id: id.to_string() };
                row.ok_or_else(unknown)?.get(0)?
            }
        };
        sql.query(select, values![self.limit, before]).await?.iter().map(to_inbox_message).collect()
    }
}

struct Oldest(u64);

impl Operation for Oldest {
    type Output = Vec<WaitingMessage>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<WaitingMessage>, StoreError> {
        let select =
            "SELECT id, sender, attempts, (SELECT ended_at FROM turns WHERE turns.id = inbox.turn_id)
             FROM inbox WHERE state = 'staged' ORDER BY seq LIMIT ?1";
        let waiting = |row: &Row| {
            let (id, sender) = (row.parse(0)?, row.parse(1)?);
            Ok(WaitingMessage { id, sender, attempts: row.get(2)?, tried_at: row.parse_optional(3)? })
        };
        sql.query(select, values![self.0]).await?.iter().map(waiting).collect()
    }
}

struct GetMessages(Vec<InboxId>);

impl Operation for GetMessages {
    type Output = Vec<InboxMessage>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<InboxMessage>, StoreError> {
        let select = concat!("SELECT ", columns!(), " FROM inbox WHERE id = ?1");
        let mut found = Vec::new();
        for id in &self.0 {
            found.extend(
                sql.query_optional(select, values![id]).await?.as_ref().map(to_inbox_message).transpose()?,
            );
        }
        Ok(found)
    }
}

struct Outbox(u64);

impl Operation for Outbox {
    type Output = Vec<OutboxMessage>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<OutboxMessage>, StoreError> {
        let select =
            "SELECT id, recipient, body, in_reply_to, turn_id, created_at, delivered_at, attempts FROM outbox
             ORDER BY seq DESC LIMIT ?1";
        sql.query(select, values![self.0]).await?.iter().map(to_outbox_message).collect()
    }
}
