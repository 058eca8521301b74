//! The lease on a conversation: at most one turn holds it.

use foreword_core::id::{ConversationId, NodeId, TurnId};
use foreword_core::lease::Lease;
use foreword_core::timestamp::Timestamp;

use super::TurnLease;
use crate::engine::{Row, Transaction, values};
use crate::error::StoreError;
use crate::lease::{self, StoredLease};

const RESET_RENEWAL: &str = "UPDATE conversations SET lease_renewed_at = ?2
    WHERE id = ?1 AND lease_fence = ?3 AND lease_renewed_at = ?4";

/// A conversation's lease and the turn that holds it. It may have expired.
#[derive(Debug)]
pub(super) struct ConversationLease {
    pub(super) turn: TurnId,
    stored: StoredLease,
}

impl ConversationLease {
    /// Reads the columns `lease_turn, lease_holder, lease_fence, lease_renewed_at, lease_millis`, which start at column
    /// `first`. `None` if no turn holds the conversation.
    pub(super) fn read(row: &Row, first: usize) -> Result<Option<Self>, StoreError> {
        let Some(turn) = row.parse_optional(first)? else { return Ok(None) };
        Ok(Some(Self { turn, stored: StoredLease::read(row, first + 1)? }))
    }

    pub(super) fn holder(&self) -> &NodeId {
        &self.stored.holder
    }

    /// See [`StoredLease::is_free`].
    pub(super) async fn is_free(
        &self,
        sql: &mut Transaction<'_>,
        conversation: &ConversationId,
        clock: Timestamp,
    ) -> Result<bool, StoreError> {
        self.stored.is_free(sql, conversation.into(), RESET_RENEWAL, clock).await
    }
}

/// The result of claiming a conversation.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) fence: u64,
    pub(super) settings_version: u64,
}

/// Locks a conversation and reads its lease.
pub(super) async fn locked(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
) -> Result<Option<ConversationLease>, StoreError> {
    sql.lock(&format!("conversation:{conversation}")).await?;
    let select = "SELECT lease_turn, lease_holder, lease_fence, lease_renewed_at, lease_millis
        FROM conversations WHERE id = ?1";
    match sql.query_optional(select, values![conversation]).await? {
        Some(row) => ConversationLease::read(&row, 0),
        None => Err(StoreError::NotFound { what: "conversation", id: conversation.to_string() }),
    }
}

/// Gives a turn on a node the conversation's lease, with a new fencing token.
pub(super) async fn claim(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
    turn: &TurnId,
    node: &NodeId,
    lease: Lease,
) -> Result<Claimed, StoreError> {
    let update = "UPDATE conversations SET lease_turn = ?2, lease_holder = ?3, lease_fence = lease_fence + 1,
            lease_renewed_at = ?4, lease_millis = ?5
        WHERE id = ?1 RETURNING lease_fence, settings_version";
    let millis = lease::millis(lease.duration);
    match sql.query_optional(update, values![conversation, turn, node, lease.renewed_at, millis]).await? {
        Some(row) => Ok(Claimed { fence: row.get(0)?, settings_version: row.get(1)? }),
        None => Err(StoreError::NotFound { what: "conversation", id: conversation.to_string() }),
    }
}

/// Locks the conversation and fails if `hold` is no longer valid.
pub(crate) async fn check(sql: &mut Transaction<'_>, hold: &TurnLease) -> Result<ConversationId, StoreError> {
    let conversation = conversation_of(sql, &hold.turn).await?;
    let held = locked(sql, &conversation).await?.filter(|held| held.turn == hold.turn);
    match held {
        Some(held) if held.stored.fence == hold.fence => Ok(conversation),
        other => Err(lost(hold, other.as_ref().map(ConversationLease::holder))),
    }
}

/// As [`check`], and renews the lease.
pub(super) async fn check_and_renew(
    sql: &mut Transaction<'_>,
    hold: &TurnLease,
    now: Timestamp,
) -> Result<(), StoreError> {
    let conversation = check(sql, hold).await?;
    let clock = sql.clock(now).await?;
    let renew = "UPDATE conversations SET lease_renewed_at = ?2 WHERE id = ?1";
    sql.execute(renew, values![&conversation, clock]).await?;
    Ok(())
}

/// Releases the conversation. The fence stays, because it must never decrease.
pub(super) async fn release(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
) -> Result<(), StoreError> {
    let update = "UPDATE conversations
        SET lease_turn = NULL, lease_holder = NULL, lease_renewed_at = NULL, lease_millis = NULL WHERE id = ?1";
    sql.execute(update, values![conversation]).await?;
    Ok(())
}

/// A turn's conversation, which never changes.
pub(super) async fn conversation_of(
    sql: &mut Transaction<'_>,
    turn: &TurnId,
) -> Result<ConversationId, StoreError> {
    match sql.query_optional("SELECT conversation_id FROM turns WHERE id = ?1", values![turn]).await? {
        Some(row) => row.parse(0),
        None => Err(StoreError::NotFound { what: "turn", id: turn.to_string() }),
    }
}

pub(super) fn lost(hold: &TurnLease, holder: Option<&NodeId>) -> StoreError {
    StoreError::LeaseLost {
        what: "turn",
        id: hold.turn.to_string(),
        fence: hold.fence,
        holder: holder.map(ToString::to_string),
    }
}
