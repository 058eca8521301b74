//! Who holds a conversation, and whether that is still whoever says so.

use std::time::Duration;

use foreword_core::id::{ConversationId, NodeId, TurnId};
use foreword_core::lease::{Lease, Standing};
use foreword_core::timestamp::Timestamp;

use super::Hold;
use crate::engine::{Row, Sql, values};
use crate::error::StoreError;

/// The lease of a conversation that somebody holds, or held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) turn: TurnId,
    pub(super) holder: NodeId,
    pub(super) fence: u64,
    lease: Lease,
}

/// What a turn gets that claims a conversation.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) fence: u64,
    pub(super) settings_version: u64,
}

/// The columns that [`held`] reads begin where it is told, in this order: `lease_turn, lease_holder, lease_fence,
/// lease_renewed_at, lease_millis`.
pub(super) fn held(row: &Row, first: usize) -> Result<Option<Held>, StoreError> {
    let Some(turn) = row.parse_optional(first)? else { return Ok(None) };
    let lease =
        Lease { renewed_at: row.parse(first + 3)?, duration: Duration::from_millis(row.get(first + 4)?) };
    Ok(Some(Held { turn, holder: row.parse(first + 1)?, fence: row.get(first + 2)?, lease }))
}

/// Takes the lock of a conversation and reads its lease.
pub(super) async fn locked<S: Sql>(
    sql: &mut S,
    conversation: &ConversationId,
) -> Result<Option<Held>, StoreError> {
    sql.lock(&format!("conversation:{conversation}")).await?;
    let select = "SELECT lease_turn, lease_holder, lease_fence, lease_renewed_at, lease_millis
        FROM conversations WHERE id = ?1";
    match sql.query_optional(select, values![conversation]).await? {
        Some(row) => held(&row, 0),
        None => Err(StoreError::NotFound { what: "conversation", id: conversation.to_string() }),
    }
}

/// Whether the lease is free at `clock`: it has run out, or its holder is known to be dead. One from a time that is far from having come is dated anew.
pub(super) async fn is_free<S: Sql>(
    sql: &mut S,
    conversation: &ConversationId,
    held: &Held,
    clock: Timestamp,
) -> Result<bool, StoreError> {
    if sql.is_dead(&held.holder) {
        return Ok(true);
    }
    let standing = held.lease.standing(clock);
    if standing == Standing::Redate {
        // Only if its holder has not renewed it in the meantime: not everybody who asks has the lock.
        let redate = "UPDATE conversations SET lease_renewed_at = ?2
            WHERE id = ?1 AND lease_fence = ?3 AND lease_renewed_at = ?4";
        sql.execute(redate, values![conversation, clock, held.fence, held.lease.renewed_at]).await?;
    }
    Ok(standing == Standing::Free)
}

/// Gives the conversation to a turn on a node, with a fence higher than all before.
pub(super) async fn claim<S: Sql>(
    sql: &mut S,
    conversation: &ConversationId,
    (turn, node): (&TurnId, &NodeId),
    lease: Lease,
) -> Result<Claimed, StoreError> {
    let update = "UPDATE conversations SET lease_turn = ?2, lease_holder = ?3, lease_fence = lease_fence + 1,
            lease_renewed_at = ?4, lease_millis = ?5
        WHERE id = ?1 RETURNING lease_fence, settings_version";
    let millis = u64::try_from(lease.duration.as_millis()).unwrap_or(u64::MAX);
    match sql.query_optional(update, values![conversation, turn, node, lease.renewed_at, millis]).await? {
        Some(row) => Ok(Claimed { fence: row.get(0)?, settings_version: row.get(1)? }),
        None => Err(StoreError::NotFound { what: "conversation", id: conversation.to_string() }),
    }
}

/// Takes the lock of the hold's conversation and makes sure that the hold is still good.
pub(crate) async fn check<S: Sql>(sql: &mut S, hold: &Hold) -> Result<ConversationId, StoreError> {
    let conversation = conversation_of(sql, &hold.turn).await?;
    let held = locked(sql, &conversation).await?.filter(|held| held.turn == hold.turn);
    match held {
        Some(held) if held.fence == hold.fence => Ok(conversation),
        other => Err(lost(hold, other.map(|held| held.holder))),
    }
}

/// The same, and says that the holder lives.
pub(super) async fn check_and_renew<S: Sql>(
    sql: &mut S,
    hold: &Hold,
    now: Timestamp,
) -> Result<(), StoreError> {
    let conversation = check(sql, hold).await?;
    let clock = sql.clock(now).await?;
    let renew = "UPDATE conversations SET lease_renewed_at = ?2 WHERE id = ?1";
    sql.execute(renew, values![&conversation, clock]).await?;
    Ok(())
}

/// Gives the conversation back. The fence stays: it only grows.
pub(super) async fn release<S: Sql>(sql: &mut S, conversation: &ConversationId) -> Result<(), StoreError> {
    let update = "UPDATE conversations
        SET lease_turn = NULL, lease_holder = NULL, lease_renewed_at = NULL, lease_millis = NULL WHERE id = ?1";
    sql.execute(update, values![conversation]).await?;
    Ok(())
}

/// The conversation of a turn, which never changes.
pub(super) async fn conversation_of<S: Sql>(
    sql: &mut S,
    turn: &TurnId,
) -> Result<ConversationId, StoreError> {
    match sql.query_optional("SELECT conversation_id FROM turns WHERE id = ?1", values![turn]).await? {
        Some(row) => row.parse(0),
        None => Err(StoreError::NotFound { what: "turn", id: turn.to_string() }),
    }
}

pub(super) fn lost(hold: &Hold, holder: Option<NodeId>) -> StoreError {
    StoreError::LeaseLost {
        what: "turn",
        id: hold.turn.to_string(),
        fence: hold.fence,
        holder: holder.map(|holder| holder.to_string()),
    }
}
