//! Writes of a running workflow: start, lease renewal, steps and end.

use foreword_core::failure::OwnerOnly;
use foreword_core::timestamp::Timestamp;
use serde_json::Value;

use super::{FinishRun, RunLease, RunState, StartRun, StartStep, StepStart, lease};
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

pub(super) struct Start(pub(super) StartRun);

impl Operation for Start {
    type Output = RunLease;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<RunLease, StoreError> {
        let new = &self.0;
        let first = RunLease { run: new.run.clone(), fence: 1 };
        if let Some(held) = lease::locked(sql, &new.run).await? {
            // A retry after a lost response.
            let same =
                held.state == RunState::Running && held.stored.fence == 1 && held.stored.holder == new.node;
            let used = StoreError::UsedBefore { what: "run id", id: new.run.to_string() };
            return if same { Ok(first) } else { Err(used) };
        }
        let clock = sql.clock(new.now).await?;
        let millis = crate::lease::millis(new.lease);
        sql.execute(
            "INSERT INTO workflow_runs (id, workflow, parameters, state, conversation_id, started_by, fence, holder,
                 lease_renewed_at, lease_millis, started_at, occasion, workflow_hash, tainted)
             VALUES (?1, ?2, ?3, 'running', (SELECT id FROM conversations WHERE id = ?4), ?5, 1, ?6, ?7, ?8, ?9, ?10, ?11,
                 ?12)",
            values![
                &new.run,
                &new.workflow,
                &new.parameters,
                new.conversation.as_ref(),
                new.started_by.as_deref(),
                &new.node,
                clock,
                millis,
                new.now,
                new.occasion.as_ref(),
                new.workflow_hash,
                new.tainted,
            ],
        )
        .await?;
        Ok(first)
    }
}

pub(super) struct Renew {
    pub(super) hold: RunLease,
    pub(super) now: Timestamp,
}

impl Operation for Renew {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        lease::check_and_renew(sql, &self.hold, self.now).await
    }
}

pub(super) struct Taint {
    pub(super) hold: RunLease,
    pub(super) now: Timestamp,
}

impl Operation for Taint {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        lease::check_and_renew(sql, &self.hold, self.now).await?;
        let update = "UPDATE workflow_runs SET tainted = 1 WHERE id = ?1";
        sql.execute(update, values![&self.hold.run]).await?;
        Ok(())
    }
}

pub(super) struct Begin {
    pub(super) hold: RunLease,
    pub(super) step: StartStep,
    pub(super) now: Timestamp,
}

impl Operation for Begin {
    type Output = StepStart;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<StepStart, StoreError> {
        lease::check_and_renew(sql, &self.hold, self.now).await?;
        let (run, step) = (&self.hold.run, &self.step);
        let select = "SELECT name, ended_at FROM workflow_steps WHERE run_id = ?1 ORDER BY number";
        let rows = sql.query(select, values![run]).await?;
        let index = usize::try_from(step.number).unwrap_or(usize::MAX).checked_sub(1);
        match index.and_then(|index| rows.get(index)) {
            // The definition and the name may have changed since. A finished step stays unchanged.
            Some(row) if row.get::<Option<String>>(1)?.is_none() => {
                let update = "UPDATE workflow_steps SET name = ?3, side_effects = ?4, definition = ?5
                    WHERE run_id = ?1 AND number = ?2";
                let values = values![run, step.number, &step.name, step.side_effects, step.definition];
                sql.execute(update, values).await?;
                return Ok(StepStart::Again);
            }
            Some(row) if row.text(0)? == step.name => return Ok(StepStart::Again),
            Some(_) => return Err(self.refused("another step has this number".to_owned())),
            None if index == Some(rows.len()) => {}
            None => return Err(self.refused(format!("the next step is {}", rows.len() + 1))),
        }
        let insert = "INSERT INTO workflow_steps (run_id, number, name, started_at, side_effects, definition)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = values![run, step.number, &step.name, self.now, step.side_effects, step.definition];
        sql.execute(insert, values).await?;
        Ok(StepStart::First)
    }
}

impl Begin {
    fn refused(&self, reason: String) -> StoreError {
        StoreError::Refused { what: "step", id: format!("{}/{}", self.hold.run, self.step.number), reason }
    }
}

pub(super) struct FinishStep {
    pub(super) hold: RunLease,
    pub(super) number: u64,
    pub(super) result: Result<Value, OwnerOnly<String>>,
    pub(super) now: Timestamp,
}

impl Operation for FinishStep {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        lease::check_and_renew(sql, &self.hold, self.now).await?;
        let run = &self.hold.run;
        let select = "SELECT ended_at FROM workflow_steps WHERE run_id = ?1 AND number = ?2";
        let Some(row) = sql.query_optional(select, values![run, self.number]).await? else {
            let id = format!("{run}/{}", self.number);
            return Err(StoreError::NotFound { what: "step", id });
        };
        if row.get::<Option<String>>(0)?.is_some() {
            return Ok(());
        }
        let (output, error) =
            (self.result.as_ref().ok(), self.result.as_ref().err().map(OwnerOnly::for_record));
        // A repeated step keeps the error of its first attempt.
        let update = "UPDATE workflow_steps SET output = ?3, error = COALESCE(?4, error), ended_at = ?5
            WHERE run_id = ?1 AND number = ?2";
        sql.execute(update, values![run, self.number, output, error, self.now]).await?;
        Ok(())
    }
}

pub(super) struct Finish {
    pub(super) hold: RunLease,
    pub(super) finish: FinishRun,
}

impl Operation for Finish {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let (run, finish) = (&self.hold.run, &self.finish);
        let state = RunState::Ended(finish.outcome);
        let held = lease::locked(sql, run).await?.ok_or_else(|| lease::missing(run))?;
        if held.state == state && held.stored.fence == self.hold.fence {
            return Ok(());
        }
        lease::check(&self.hold, &held)?;
        let update =
            "UPDATE workflow_runs SET state = ?2, output = ?3, error = ?4, ended_at = ?5 WHERE id = ?1";
        let (output, error) = (finish.output.as_ref(), finish.error.as_ref().map(OwnerOnly::for_record));
        sql.execute(update, values![run, state.as_str(), output, error, finish.at]).await?;
        Ok(())
    }
}
