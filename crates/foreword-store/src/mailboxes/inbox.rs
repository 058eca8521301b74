//! The inbox: messages to the agent.

use foreword_core::failure::OwnerOnly;
use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{InboxState, SenderAddress};
use foreword_core::timestamp::Timestamp;
use foreword_core::zero_byte::without_zero_bytes;

use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// The lock for counting waiting messages.
const WAITING_LOCK: &str = "inbox";

/// The columns of a message. The time of its last attempt is the end of that turn.
macro_rules! columns {
    () => {
        "id, sender, body, received_at, state, turn_id, consumed_at, attempts, error, failures,
         (SELECT ended_at FROM turns WHERE turns.id = inbox.turn_id)"
    };
}
pub(super) use columns;

/// A message to add to the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInboxMessage {
    /// Its id, chosen by the client. Adding the same id again is idempotent.
    pub id: InboxId,
    pub sender: SenderAddress,
    /// The text. Zero bytes are replaced.
    pub body: String,
    /// The time of receipt.
    pub at: Timestamp,
}

/// A message in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    pub id: InboxId,
    pub sender: SenderAddress,
    /// The full text.
    pub body: String,
    /// When it was received.
    pub received_at: Timestamp,
    pub state: InboxState,
    /// The turn that consumed it, and when; `None` while it is staged or set aside.
    pub consumed: Option<(TurnId, Timestamp)>,
    /// The last turn that failed on it, while it is not consumed.
    pub failed_turn: Option<TurnId>,
    /// How many turns have failed on it.
    pub attempts: u64,
    /// How many of those failures it may have caused itself.
    pub failures: u64,
    /// The error of the last failed turn.
    pub error: Option<OwnerOnly<String>>,
    /// When the last failed turn ended; `None` if it can be retried at once.
    pub tried_at: Option<Timestamp>,
}

/// Limits on waiting messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingLimits {
    pub per_sender: u64,
    /// In total.
    pub in_all: u64,
}

impl Default for WaitingLimits {
    fn default() -> Self {
        Self { per_sender: 50, in_all: 20_000 }
    }
}

/// The outcome of staging with limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageOutcome {
    /// It is in the inbox.
    Staged(Staged),
    /// Rejected: the sender has too many waiting messages.
    SenderLimitReached { limit: u64 },
    /// Rejected: too many messages are waiting in total.
    TotalLimitReached { limit: u64 },
}

/// The outcome of staging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Staged {
    /// A new message, waiting for a turn.
    New(InboxMessage),
    /// It was staged before; the stored message.
    Again(InboxMessage),
}

impl Store {
    /// Adds a message to the inbox. Idempotent.
    ///
    /// # Errors
    /// If another message has this id, or the database can't be written.
    pub async fn stage(&self, new: NewInboxMessage) -> Result<Staged, StoreError> {
        self.run(Stage(new)).await
    }

    /// As [`Store::stage`], but rejects new messages above the limits. A message staged before is returned even so.
    ///
    /// # Errors
    /// As [`Store::stage`].
    pub async fn stage_within(
        &self,
        new: NewInboxMessage,
        limits: WaitingLimits,
    ) -> Result<StageOutcome, StoreError> {
        self.run(StageWithin(new, limits)).await
    }

    /// At most `limit` staged messages, the oldest first.
    pub async fn staged(&self, limit: u64) -> Result<Vec<InboxMessage>, StoreError> {
        self.run(ListStaged(limit)).await
    }

    /// A message of the inbox.
    ///
    /// # Errors
    /// If there is no such message, or the database can't be read.
    pub async fn inbox_message(&self, id: &InboxId) -> Result<InboxMessage, StoreError> {
        self.run(GetInbox(id.clone())).await
    }
}

struct Stage(NewInboxMessage);

impl Operation for Stage {
    type Output = Staged;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Staged, StoreError> {
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
        sql.announce(StoreChange::Inbox);
        Ok(Staged::New(message))
    }
}

struct StageWithin(NewInboxMessage, WaitingLimits);

impl Operation for StageWithin {
    type Output = StageOutcome;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<StageOutcome, StoreError> {
        let Self(new, limits) = self;
        // Without the lock, two concurrent counts could both find room for one more.
        sql.lock(WAITING_LOCK).await?;
        let known = sql.query_optional("SELECT seq FROM inbox WHERE id = ?1", values![&new.id]).await?;
        if known.is_none() {
            let of_sender =
                "SELECT COUNT(*) FROM (SELECT seq FROM inbox WHERE state = 'staged' AND sender = ?1
                LIMIT ?2) AS waiting";
            let own = sql.query_optional(of_sender, values![new.sender.as_str(), limits.per_sender]).await?;
            if own.map_or(Ok(0), |row| row.get::<u64>(0))? >= limits.per_sender {
                return Ok(StageOutcome::SenderLimitReached { limit: limits.per_sender });
            }
            let of_all =
                "SELECT COUNT(*) FROM (SELECT seq FROM inbox WHERE state = 'staged' LIMIT ?1) AS waiting";
            let all = sql.query_optional(of_all, values![limits.in_all]).await?;
            if all.map_or(Ok(0), |row| row.get::<u64>(0))? >= limits.in_all {
                return Ok(StageOutcome::TotalLimitReached { limit: limits.in_all });
            }
        }
        Stage(new.clone()).run(sql).await.map(StageOutcome::Staged)
    }
}

struct ListStaged(u64);

impl Operation for ListStaged {
    type Output = Vec<InboxMessage>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<InboxMessage>, StoreError> {
        let select =
            concat!("SELECT ", columns!(), " FROM inbox WHERE state = 'staged' ORDER BY seq LIMIT ?1");
        sql.query(select, values![self.0]).await?.iter().map(to_inbox_message).collect()
    }
}

struct GetInbox(InboxId);

impl Operation for GetInbox {
    type Output = InboxMessage;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<InboxMessage, StoreError> {
        inbox_message(sql, &self.0).await
    }
}

pub(super) async fn inbox_message(
    sql: &mut Transaction<'_>,
    id: &InboxId,
) -> Result<InboxMessage, StoreError> {
    let select = concat!("SELECT ", columns!(), " FROM inbox WHERE id = ?1");
    match sql.query_optional(select, values![id]).await? {
        Some(row) => to_inbox_message(&row),
        None => Err(StoreError::NotFound { what: "inbox message", id: id.to_string() }),
    }
}

pub(super) fn to_inbox_message(row: &Row) -> Result<InboxMessage, StoreError> {
    let state = row.parse(4)?;
    // A message with a failed attempt has a turn too.
    let (consumed, failed_turn, tried_at) = match state {
        InboxState::Consumed => (Some((row.parse(5)?, row.parse(6)?)), None, None),
        InboxState::Staged | InboxState::SetAside => (None, row.parse_optional(5)?, row.parse_optional(10)?),
    };
    Ok(InboxMessage {
        id: row.parse(0)?,
        sender: row.parse(1)?,
        body: row.get(2)?,
        received_at: row.parse(3)?,
        state,
        consumed,
        failed_turn,
        attempts: row.get(7)?,
        error: row.get::<Option<String>>(8)?.map(Into::into),
        failures: row.get(9)?,
        tried_at,
    })
}
