//! Leases on firings: they keep two nodes from running the same firing at once. Correctness does not depend on them:
//! messages have idempotency keys, and only the first result counts.

use std::time::Duration;

use foreword_core::id::NodeId;
use foreword_core::lease::{Lease, LeaseState};
use foreword_core::timestamp::Timestamp;

use super::{Firing, firings};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

pub(super) struct Hold {
    pub(super) node: NodeId,
    pub(super) firings: Vec<(String, Timestamp)>,
    pub(super) now: Timestamp,
}

impl Operation for Hold {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let clock = sql.clock(self.now).await?;
        let update = "UPDATE schedule_firings SET renewed_at = ?2
            WHERE node = ?1 AND schedule = ?3 AND due_at = ?4 AND ended_at IS NULL";
        for (schedule, due_at) in &self.firings {
            sql.execute(update, values![&self.node, clock, schedule, *due_at]).await?;
        }
        Ok(())
    }
}

pub(super) struct Leave(pub(super) NodeId);

impl Operation for Leave {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let update = "UPDATE schedule_firings SET renewed_at = NULL WHERE node = ?1 AND ended_at IS NULL";
        if sql.execute(update, values![&self.0]).await? > 0 {
            sql.announce(StoreChange::Schedules);
        }
        Ok(())
    }
}

/// A request to take over abandoned firings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeFirings {
    /// The node that takes them over.
    pub node: NodeId,
    pub lease: Duration,
    /// The current time.
    pub now: Timestamp,
}

impl Operation for TakeFirings {
    type Output = Vec<Firing>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Firing>, StoreError> {
        super::lock(sql).await?;
        let clock = sql.clock(self.now).await?;
        let select = concat!(
            "SELECT ",
            firings::columns!(),
            ", renewed_at FROM schedule_firings WHERE ended_at IS NULL AND node <> ?1 ORDER BY claimed_at, schedule, due_at"
        );
        let mut taken = Vec::new();
        for row in sql.query(select, values![&self.node]).await? {
            let renewed: Option<Timestamp> = row.parse_optional(firings::COLUMNS)?;
            let standing = |renewed_at| Lease { renewed_at, duration: self.lease }.state(clock);
            let mut firing = firings::firing(&row)?;
            let standing = match renewed {
                Some(renewed) if !sql.is_dead(&firing.node) => standing(renewed),
                _ => LeaseState::Free,
            };
            if standing == LeaseState::Held {
                continue;
            }
            let free = standing == LeaseState::Free;
            let node = if free { &self.node } else { &firing.node };
            let update =
                "UPDATE schedule_firings SET node = ?3, renewed_at = ?4 WHERE schedule = ?1 AND due_at = ?2";
            sql.execute(update, values![&firing.schedule, firing.due_at, node, clock]).await?;
            if free {
                firing.node = self.node.clone();
                taken.push(firing);
            }
        }
        Ok(taken)
    }
}
