//! The lease on a workflow run, and taking over runs whose lease has expired.

use std::time::Duration;

use foreword_core::id::{NodeId, RunId};
use foreword_core::timestamp::Timestamp;

use super::{RunLease, RunState, WorkflowRun, rows};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::lease::{self, StoredLease};

const RESET_RENEWAL: &str = "UPDATE workflow_runs SET lease_renewed_at = ?2
    WHERE id = ?1 AND fence = ?3 AND lease_renewed_at = ?4";

/// The state and the lease of a run. A run that has ended keeps its last lease.
pub(super) struct LockedRun {
    pub(super) state: RunState,
    pub(super) stored: StoredLease,
}

impl LockedRun {
    /// Reads the columns `state, holder, fence, lease_renewed_at, lease_millis`, which start at column `first`.
    fn read(row: &Row, first: usize) -> Result<Self, StoreError> {
        Ok(Self { state: row.parse(first)?, stored: StoredLease::read(row, first + 1)? })
    }
}

/// Locks a run and reads its lease; `None` if there is no such run.
pub(super) async fn locked(sql: &mut Transaction<'_>, run: &RunId) -> Result<Option<LockedRun>, StoreError> {
    sql.lock(&format!("run:{run}")).await?;
    let select =
        "SELECT state, holder, fence, lease_renewed_at, lease_millis FROM workflow_runs WHERE id = ?1";
    sql.query_optional(select, values![run]).await?.map(|row| LockedRun::read(&row, 0)).transpose()
}

/// Fails if `hold` is no longer valid, by the lease as just read.
pub(super) fn check(hold: &RunLease, held: &LockedRun) -> Result<(), StoreError> {
    let running = held.state == RunState::Running;
    if running && held.stored.fence == hold.fence {
        return Ok(());
    }
    Err(StoreError::LeaseLost {
        what: "run",
        id: hold.run.to_string(),
        fence: hold.fence,
        holder: running.then(|| held.stored.holder.to_string()),
    })
}

/// Locks a run, fails if `hold` is no longer valid, and renews the lease.
pub(super) async fn check_and_renew(
    sql: &mut Transaction<'_>,
    hold: &RunLease,
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

pub(super) struct Unfinished(pub(super) Timestamp);

impl Operation for Unfinished {
    type Output = Vec<WorkflowRun>;
    // Redates leases whose renewal time lies in the future.
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<WorkflowRun>, StoreError> {
        let clock = sql.clock(self.0).await?;
        // In a fixed order, so that two nodes that redate leases at once do not deadlock.
        let select =
            "SELECT id, workflow, parameters, state, conversation_id, started_by, holder, output, error,
                started_at, ended_at, occasion, workflow_hash, tainted,
                state, holder, fence, lease_renewed_at, lease_millis
            FROM workflow_runs WHERE state = 'running' ORDER BY id";
        let mut free = Vec::new();
        for row in sql.query(select, &[]).await? {
            let run = rows::run(&row)?;
            let held = LockedRun::read(&row, rows::COLUMNS)?;
            if held.stored.is_free(sql, (&run.id).into(), RESET_RENEWAL, clock).await? {
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
    type Output = Option<RunLease>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<RunLease>, StoreError> {
        let held = locked(sql, &self.run).await?.ok_or_else(|| missing(&self.run))?;
        let clock = sql.clock(self.now).await?;
        if held.state != RunState::Running
            || !held.stored.is_free(sql, (&self.run).into(), RESET_RENEWAL, clock).await?
        {
            return Ok(None);
        }
        let fence = held.stored.fence + 1;
        let update =
            "UPDATE workflow_runs SET fence = ?2, holder = ?3, lease_renewed_at = ?4, lease_millis = ?5
            WHERE id = ?1";
        let millis = lease::millis(self.lease);
        sql.execute(update, values![&self.run, fence, &self.node, clock, millis]).await?;
        Ok(Some(RunLease { run: self.run.clone(), fence }))
    }
}
