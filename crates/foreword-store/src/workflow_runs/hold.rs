//! Who holds a run, and who gets one that was cut off.

use std::time::Duration;

use foreword_core::id::{NodeId, RunId};
use foreword_core::lease::{Lease, Standing};
use foreword_core::timestamp::Timestamp;

use super::{RunHold, RunState, WorkflowRun, rows};
use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;

/// The lease of a run, whether it has ended or not.
pub(super) struct Held {
    pub(super) state: RunState,
    pub(super) fence: u64,
    pub(super) holder: NodeId,
    lease: Lease,
}

/// Reads `state, fence, holder, lease_renewed_at, lease_millis`, which begin at column `first`.
fn held(row: &Row, first: usize) -> Result<Held, StoreError> {
    let lease =
        Lease { renewed_at: row.parse(first + 3)?, duration: Duration::from_millis(row.get(first + 4)?) };
    let (state, fence, holder) = (row.parse(first)?, row.get(first + 1)?, row.parse(first + 2)?);
    Ok(Held { state, fence, holder, lease })
}

/// Takes the lock of a run and reads its lease, if there is such a run.
pub(super) async fn locked<S: Sql>(sql: &mut S, run: &RunId) -> Result<Option<Held>, StoreError> {
    sql.lock(&format!("run:{run}")).await?;
    let select =
        "SELECT state, fence, holder, lease_renewed_at, lease_millis FROM workflow_runs WHERE id = ?1";
    sql.query_optional(select, values![run]).await?.map(|row| held(&row, 0)).transpose()
}

/// Makes sure that the hold is still good, by the lease as it was just read.
pub(super) fn check(hold: &RunHold, held: &Held) -> Result<(), StoreError> {
    let running = held.state == RunState::Running;
    if running && held.fence == hold.fence {
        return Ok(());
    }
    Err(StoreError::LeaseLost {
        what: "run",
        id: hold.run.to_string(),
        fence: hold.fence,
        holder: running.then(|| held.holder.to_string()),
    })
}

/// Takes the lock of a run, makes sure that the hold is still good, and says that its holder lives.
pub(super) async fn check_and_renew<S: Sql>(
    sql: &mut S,
    hold: &RunHold,
    now: Timestamp,
) -> Result<(), StoreError> {
    check(hold, &locked(sql, &hold.run).await?.ok_or_else(|| missing(&hold.run))?)?;
    let clock = sql.clock(now).await?;
    let renew = "UPDATE workflow_runs SET lease_renewed_at = ?2 WHERE id = ?1";
    sql.execute(renew, values![&hold.run, clock]).await?;
    Ok(())
}

pub(super) fn missing(run: &RunId) -> StoreError {
    StoreError::NotFound { what: "run", id: run.to_string() }
}

/// Whether the lease is free at `clock`: it has run out, or its holder is known to be dead. One from a time that is far from having come is dated anew.
async fn is_free<S: Sql>(
    sql: &mut S,
    run: &RunId,
    held: &Held,
    clock: Timestamp,
) -> Result<bool, StoreError> {
    if sql.is_dead(&held.holder) {
        return Ok(true);
    }
    let standing = held.lease.standing(clock);
    if standing == Standing::Redate {
        // Only if its holder has not renewed it in the meantime: not everybody who asks has the lock.
        let redate = "UPDATE workflow_runs SET lease_renewed_at = ?2
            WHERE id = ?1 AND fence = ?3 AND lease_renewed_at = ?4";
        sql.execute(redate, values![run, clock, held.fence, held.lease.renewed_at]).await?;
    }
    Ok(standing == Standing::Free)
}

pub(super) struct Unfinished(pub(super) Timestamp);

impl Operation for Unfinished {
    type Output = Vec<WorkflowRun>;
    // A lease from a time that has not come is dated anew.
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<WorkflowRun>, StoreError> {
        let clock = sql.clock(self.0).await?;
        // Two nodes that look at once change leases in the same order.
        let select =
            "SELECT id, workflow, parameters, state, conversation_id, started_by, holder, output, error,
                started_at, ended_at, occasion, workflow_hash, tainted,
                state, fence, holder, lease_renewed_at, lease_millis
            FROM workflow_runs WHERE state = 'running' ORDER BY id";
        let mut free = Vec::new();
        for row in sql.query(select, &[]).await? {
            let run = rows::run(&row)?;
            if is_free(sql, &run.id, &held(&row, rows::COLUMNS)?, clock).await? {
                free.push(run);
            }
        }
        Ok(free)
    }
}

pub(super) struct TakeOver {
    pub(super) run: RunId,
    pub(super) node: NodeId,
    pub(super) lease: Duration,
    pub(super) now: Timestamp,
}

impl Operation for TakeOver {
    type Output = Option<RunHold>;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Option<RunHold>, StoreError> {
        let held = locked(sql, &self.run).await?.ok_or_else(|| missing(&self.run))?;
        let clock = sql.clock(self.now).await?;
        if held.state != RunState::Running || !is_free(sql, &self.run, &held, clock).await? {
            return Ok(None);
        }
        let fence = held.fence + 1;
        let update =
            "UPDATE workflow_runs SET fence = ?2, holder = ?3, lease_renewed_at = ?4, lease_millis = ?5
            WHERE id = ?1";
        let millis = u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX);
        sql.execute(update, values![&self.run, fence, &self.node, clock, millis]).await?;
        Ok(Some(RunHold { run: self.run.clone(), fence }))
    }
}
