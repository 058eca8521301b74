//! Reopens a failed or cancelled run. Keeps the outputs of its steps and the error of the failed one.

use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::Reopen;

use super::{ReopenRun, RunLease, RunState, lease};
use crate::engine::{Access, Transaction, values};
use crate::error::StoreError;

pub(super) struct Operation(pub(super) ReopenRun);

impl crate::engine::Operation for Operation {
    type Output = Option<RunLease>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<RunLease>, StoreError> {
        let ReopenRun { run, reopen, name, workflow_hash, node, lease, now } = &self.0;
        let held = lease::locked(sql, run).await?.ok_or_else(|| lease::missing(run))?;
        if matches!(held.state, RunState::Running | RunState::Ended(Outcome::Done)) {
            return Ok(None);
        }
        let (clock, fence) = (sql.clock(*now).await?, held.stored.fence + 1);
        let millis = crate::lease::millis(*lease);
        sql.execute(
            "UPDATE workflow_runs SET state = 'running', error = NULL, output = NULL, ended_at = NULL, fence = ?2,
                 holder = ?3, lease_renewed_at = ?4, lease_millis = ?5, workflow_hash = COALESCE(?6, workflow_hash)
             WHERE id = ?1",
            values![run, fence, node, clock, millis, *workflow_hash],
        )
        .await?;
        let changed = match reopen {
            Reopen::AsItIs => 1,
            // The caller has dealt with possible side effects: the step counts as not started.
            Reopen::Again(number) => {
                let again =
                    "UPDATE workflow_steps SET side_effects = 0, attempts = attempts + 1, ended_at = NULL, started_at = ?3,
                        name = COALESCE(?4, name) WHERE run_id = ?1 AND number = ?2";
                sql.execute(again, values![run, *number, *now, name.as_deref()]).await?
            }
            Reopen::Without(number) => {
                let without = "UPDATE workflow_steps SET output = ?3, ended_at = ?4
                    WHERE run_id = ?1 AND number = ?2";
                let nothing = serde_json::json!({ "skipped": true });
                sql.execute(without, values![run, *number, &nothing, *now]).await?
            }
        };
        if changed == 0 {
            return Err(StoreError::NotFound { what: "step", id: run.to_string() });
        }
        Ok(Some(RunLease { run: run.clone(), fence }))
    }
}
