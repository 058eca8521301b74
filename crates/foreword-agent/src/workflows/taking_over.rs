//! Runs that were cut off: claimed, and gone on with as far as that is safe.

use std::sync::Arc;

use foreword_core::failure::OwnerOnly;
use foreword_core::workflow::unchanged;
use foreword_store::error::StoreError;
use foreword_store::workflow_runs::{FinishRun, RunHold, WorkflowRun, WorkflowStep};
use foreword_workspace::workflows::Workflow;

use super::driving::{RunTask, ended, log_ended, saved};
use super::journal::records;
use super::starting::{OnDrop, find};
use super::{RunEnd, WorkflowError, conversation_of};
use crate::agent::{Agent, request};
use crate::error::AgentError;
use foreword_core::turn_journal::Outcome;

impl Agent {
    /// Claims the runs whose node is thought dead, and goes on with each in the background.
    pub(crate) async fn recover_runs(&self) -> Result<(), AgentError> {
        let shared = self.shared();
        for run in shared.store.unfinished_runs(shared.now()).await? {
            let (node, now) = (&shared.node, shared.now());
            // One that can't be claimed is no reason to leave the others.
            if let Ok(Some(hold)) = shared.store.take_over_run(&run.id, node, shared.lease, now).await {
                let agent = self.clone();
                let task = tokio::spawn(async move {
                    // What can't be written now is left for whoever looks next.
                    let _ = agent.go_on(hold).await;
                });
                shared.runs.keep(task.abort_handle());
            }
        }
        Ok(())
    }

    /// Goes on with a run that this process holds; one that can't be gone on with ends as failed.
    pub(super) async fn go_on(&self, hold: RunHold) -> Result<RunEnd, AgentError> {
        let shared = self.shared();
        let (run, steps) = shared.store.workflow_run(&hold.run).await?;
        let task = saved(&run).and_then(|saved| {
            let workflow = self.workflow_of(&run, &steps, false)?;
            Ok((workflow, saved))
        });
        match task {
            Ok((workflow, saved)) => {
                let end = match RunTask::new(self.clone(), workflow, (hold.clone(), saved)) {
                    Ok(task) => task.run(OnDrop::Leave).await,
                    Err(error) => Err(error),
                };
                match end {
                    // Whoever took it up next would come no further.
                    Err(error) if !may_pass(&error) => self.give_up(&hold, error.cause()).await,
                    end => end,
                }
            }
            Err(error) => self.give_up(&hold, error.to_string().into()).await,
        }
    }

    /// Ends a run as failed that can't be gone on with, and tells it.
    async fn give_up(&self, hold: &RunHold, error: OwnerOnly<String>) -> Result<RunEnd, AgentError> {
        let shared = self.shared();
        let error = Some(error);
        let finish = FinishRun { outcome: Outcome::Failed, output: None, error, at: shared.now() };
        shared.store.finish_run(hold, finish).await?;
        let (run, steps) = shared.store.workflow_run(&hold.run).await?;
        log_ended(shared, &run, &steps, conversation_of(&run.id).ok().as_ref());
        Ok(ended(&run, &steps, steps.len()))
    }

    /// The workflow of a run as it reads now, for whoever started the run. With `force`, even if what is done reads
    /// differently by now.
    pub(super) fn workflow_of(
        &self,
        run: &WorkflowRun,
        steps: &[WorkflowStep],
        force: bool,
    ) -> Result<Arc<Workflow>, WorkflowError> {
        let shared = self.shared();
        let snapshot = shared.workspace.snapshot();
        let occasion = saved(run)?.occasion();
        let who = request(shared, &occasion).identify(&snapshot.config);
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

/// Whether another node, or this one later, may come further with a run than this error.
fn may_pass(error: &AgentError) -> bool {
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
