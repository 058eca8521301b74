//! Finds turns interrupted by a crash, and lets one node claim each.

use foreword_core::lease::Lease;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::{Journal, TurnState};

use super::lease::{self, ConversationLease};
use super::{StoredTurn, TakeOver, TakenOver, TurnLease, rows};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

pub(super) struct Unfinished {
    pub(super) now: Timestamp,
}

impl Operation for Unfinished {
    type Output = Vec<StoredTurn>;
    // Redates leases whose renewal time lies in the future.
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<StoredTurn>, StoreError> {
        let clock = sql.clock(self.now).await?;
        // In a fixed order, so that two nodes that redate leases at once do not deadlock.
        let select =
            "SELECT t.id, t.conversation_id, t.state, t.trust, t.fence, t.holder, t.attempts, t.epoch,
                t.fingerprint, t.layer_versions, t.error, t.started_at, t.ended_at,
                c.lease_turn, c.lease_holder, c.lease_fence, c.lease_renewed_at, c.lease_millis
            FROM turns t JOIN conversations c ON c.id = t.conversation_id
            WHERE t.state = 'running' ORDER BY t.conversation_id";
        let mut free = Vec::new();
        for row in sql.query(select, &[]).await? {
            let turn = rows::turn(&row)?;
            let is_free = match ConversationLease::read(&row, 13)? {
                Some(held) => held.is_free(sql, &turn.conversation, clock).await?,
                None => true,
            };
            free.extend(is_free.then_some(turn));
        }
        Ok(free)
    }
}

pub(super) struct Claim(pub(super) TakeOver);

impl Operation for Claim {
    type Output = Option<TakenOver>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<TakenOver>, StoreError> {
        let wish = &self.0;
        let conversation = lease::conversation_of(sql, &wish.turn).await?;
        let held = lease::locked(sql, &conversation).await?;
        if rows::get(sql, &wish.turn).await?.state != TurnState::Running {
            return Ok(None);
        }
        let clock = sql.clock(wish.now).await?;
        if let Some(held) = held
            && !held.is_free(sql, &conversation, clock).await?
        {
            return Ok(None);
        }
        let lease = Lease { renewed_at: clock, duration: wish.lease };
        let fence = lease::claim(sql, &conversation, &wish.turn, &wish.node, lease).await?.fence;
        let update = "UPDATE turns SET fence = ?2, holder = ?3, attempts = attempts + 1 WHERE id = ?1
            RETURNING saved";
        let saved = match sql.query_optional(update, values![&wish.turn, fence, &wish.node]).await? {
            Some(row) if row.get::<Option<String>>(0)?.is_some() => Some(row.json(0)?),
            _ => None,
        };
        let turn = rows::get(sql, &wish.turn).await?;
        let steps = rows::steps(sql, &wish.turn).await?;
        let journal = Journal::new(steps.into_iter().map(|recorded| recorded.step).collect());
        let after_crash = journal.after_crash(turn.attempts, wish.attempts_limit);
        sql.announce(StoreChange::Conversation(conversation));
        let hold = TurnLease { turn: wish.turn.clone(), fence };
        Ok(Some(TakenOver { hold, turn, journal, saved, after_crash }))
    }
}
