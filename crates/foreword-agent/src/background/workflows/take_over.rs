//! Takes over interrupted runs and resumes them as far as that is safe.

use std::sync::Arc;

use foreword_core::failure::OwnerOnly;
use foreword_core::workflow::unchanged;
use foreword_store::error::StoreError;
use foreword_store::workflow_runs::{FinishRun, RunLease, WorkflowRun, WorkflowStepRecord};
use foreword_workspace::workflows::Workflow;

use super::drive::{RunTask, ended, log_ended, saved};
use super::journal::records;
use super::start::{OnDrop, find};
use super::{RunEnd, WorkflowError, conversation_of};
use crate::agent::Agent;
use crate::error::AgentError;
use foreword_core::turn_journal::Outcome;

impl Agent {
    /// Takes over the runs of dead nodes and resumes each in the background.
    pub(crate) async fn recover_runs(&self) -> Result<(), AgentError> {
        let shared = self.shared();
        for run in shared.store.unfinished_runs(shared.now()).await? {
            let (node, now) = (&shared.node, shared.now());
            // A failure does not affect the other runs.
            if let Ok(Some(hold)) = shared.store.take_over_run(&run.id, node, shared.lease, now).await {
                let agent = self.clone();
                let task = tokio::spawn(async move {
                    // After a store error, the next recovery takes over the run.
                    let _ = agent.continue_run(hold).await;
                });
                shared.runs.add_task(task.abort_handle());
            }
        }
        Ok(())
    }

    /// Resumes a run whose lease this process holds; ends it as failed if that is not possible.
    pub(super) async fn continue_run(&self, hold: RunLease) -> Result<RunEnd, AgentError> {
        let shared = self.shared();
        let (run, steps) = shared.store.workflow_run(&hold.run).await?;
        let task = saved(&run).and_then(|saved| {
            let workflow = self.workflow_of(&run, &steps, false)?;
            Ok((workflow, saved))
        });
        match task {
            Ok((workflow, saved)) => {
                let end = match RunTask::new(self.clone(), workflow, hold.clone(), saved) {
                    Ok(task) => task.run(OnDrop::Leave).await,
                    Err(error) => Err(error),
                };
                match end {
                    // A permanent error: another node would fail as well.
                    Err(error) if !is_transient(&error) => self.fail_run(&hold, error.cause()).await,
                    end => end,
                }
            }
            Err(error) => self.fail_run(&hold, error.to_string().into()).await,
        }
    }

    /// Stores and logs the run as failed.
    async fn fail_run(&self, hold: &RunLease, error: OwnerOnly<String>) -> Result<RunEnd, AgentError> {
        let shared = self.shared();
        let error = Some(error);
        let finish = FinishRun { outcome: Outcome::Failed, output: None, error, at: shared.now() };
        shared.store.finish_run(hold, finish).await?;
        let (run, steps) = shared.store.workflow_run(&hold.run).await?;
        log_ended(shared, &run, &steps, conversation_of(&run.id).ok().as_ref());
        Ok(ended(&run, &steps, steps.len()))
    }

    /// The current workflow of a run, if its starter may run it. With `force`, finished steps may have changed in the
    /// file.
    pub(super) fn workflow_of(
        &self,
        run: &WorkflowRun,
        steps: &[WorkflowStepRecord],
        force: bool,
    ) -> Result<Arc<Workflow>, WorkflowError> {
        let shared = self.shared();
        let snapshot = shared.workspace.snapshot();
        let occasion = saved(run)?.occasion();
        let who = occasion.principal(shared);
        let workflow = find(&snapshot, &run.workflow, who.occasion.user.as_deref(), who.trust.effective())?;
        if run.workflow_hash != Some(workflow.hash) && !force {
            unchanged(&workflow.planned(), &records(steps)).map_err(|changed| {
                let path = workflow.path.clone();
                WorkflowError::FileChanged { run: run.id.clone(), path, changed }
            })?;
        }
        Ok(workflow)
    }
}

/// Whether another node, or this one later, may succeed where this error occurred.
fn is_transient(error: &AgentError) -> bool {
    match error {
        AgentError::Closed => true,
        AgentError::Store(error) => matches!(
            error,
            StoreError::Unreachable { .. }
                | StoreError::NewerSchema { .. }
                | StoreError::Full { .. }
                | StoreError::ReadOnly { .. }
                | StoreError::Locked { .. }
                | StoreError::Disconnected { .. }
                | StoreError::Uncertain { .. }
                | StoreError::LeaseLost { .. }
        ),
        _ => false,
    }
}
