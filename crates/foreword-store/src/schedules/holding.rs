//! Who is at a firing, and whether they still are. A firing is done once even if two think they have it: what it says has
//! a key, and its first end stands. This only keeps them from doing it side by side.

use std::time::Duration;

use foreword_core::id::NodeId;
use foreword_core::lease::{Lease, Standing};
use foreword_core::timestamp::Timestamp;

use super::{Firing, firings};
use crate::changes::Change;
use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;

pub(super) struct Hold {
    pub(super) node: NodeId,
    pub(super) firings: Vec<(String, Timestamp)>,
    pub(super) now: Timestamp,
}

impl Operation for Hold {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        let update = "UPDATE schedule_firings SET renewed_at = NULL WHERE node = ?1 AND ended_at IS NULL";
        if sql.execute(update, values![&self.0]).await? > 0 {
            sql.announce(Change::Schedules).await?;
        }
        Ok(())
    }
}

/// A wish to go on with what others have left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeFirings {
    /// Who wants to.
    pub node: NodeId,
    /// How long a node may be silent.
    pub lease: Duration,
    /// When.
    pub now: Timestamp,
}

impl Operation for TakeFirings {
    type Output = Vec<Firing>;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Firing>, StoreError> {
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
            let standing = |renewed_at| Lease { renewed_at, duration: self.lease }.standing(clock);
            let mut firing = firings::firing(&row)?;
            let standing = match renewed {
                Some(renewed) if !sql.is_dead(&firing.node) => standing(renewed),
                _ => Standing::Free,
            };
            if standing == Standing::Held {
                continue;
            }
            let free = standing == Standing::Free;
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
