//! Resumes a failed or cancelled run on request, from the failed step. The results of earlier steps are kept.

use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::{Reopen, Resume, reopen, step_with_unknown_outcome};
use foreword_store::workflow_runs::{ReopenRun, RunState};

use super::drive::{RunTask, saved};
use super::journal::records;
use super::start::OnDrop;
use super::{ResumeWorkflow, RunEnd, WorkflowError};
use crate::agent::Agent;
use crate::error::AgentError;

impl Agent {
    /// Resumes a failed or cancelled run. Takes over a run whose node is considered dead.
    ///
    /// # Errors
    /// If there is no such run, it is running or done, the interrupted step may have taken effect and `how` does not
    /// say how to treat it, finished steps have changed in the file, or the store fails.
    pub async fn resume_workflow(&self, resume: ResumeWorkflow) -> Result<RunEnd, AgentError> {
        let shared = self.shared();
        let id = &resume.run;
        let (mut run, mut steps) = shared.store.workflow_run(id).await?;
        if run.state == RunState::Running {
            let (node, now) = (&shared.node, shared.now());
            let Some(hold) = shared.store.take_over_run(id, node, shared.lease, now).await? else {
                let node = run.holder.to_string();
                return Err(WorkflowError::UnderWay { run: id.clone(), node }.into());
            };
            // `how` applies to the interrupted step only, not to a step that fails later.
            let (_, steps_then) = shared.store.workflow_run(id).await?;
            let cut_off = step_with_unknown_outcome(&records(&steps_then));
            let end = self.continue_run(hold).await?;
            (run, steps) = shared.store.workflow_run(id).await?;
            let is_decided = resume.how != Resume::Plain && cut_off.is_some();
            if !is_decided || step_with_unknown_outcome(&records(&steps)) != cut_off {
                return Ok(end);
            }
        }
        if run.state == RunState::Ended(Outcome::Done) {
            return Err(WorkflowError::HasEnded(id.clone()).into());
        }
        let workflow = self.workflow_of(&run, &steps, resume.force)?;
        let change = reopen(&records(&steps), resume.how).map_err(WorkflowError::from)?;
        let name = match change {
            Reopen::Again(number) => {
                let index = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
                workflow.steps.get(index).map(|step| step.name.clone())
            }
            Reopen::AsItIs | Reopen::Without(_) => None,
        };
        let again = ReopenRun {
            run: id.clone(),
            reopen: change,
            name,
            workflow_hash: Some(workflow.hash),
            node: shared.node.clone(),
            lease: shared.lease,
            now: shared.now(),
        };
        let Some(hold) = shared.store.reopen_run(again).await? else {
            let node = run.holder.to_string();
            return Err(WorkflowError::UnderWay { run: id.clone(), node }.into());
        };
        RunTask::new(self.clone(), workflow, hold, saved(&run)?)?.run(OnDrop::Leave).await
    }
}
