//! The driver of a workflow run: executes the steps that `foreword_core::workflow` chooses and stores their results,
//! until the run has ended.

use std::sync::Arc;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::ConversationId;
use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::{NextStep, StepState, next};
use foreword_prompt::untrusted::display_line;
use foreword_store::workflow_runs::{FinishRun, RunLease, RunState, WorkflowRun, WorkflowStepRecord};
use foreword_workspace::workflows::{StepValues, Workflow};
use serde_json::{Map, Value, json};

use super::journal::{SavedRun, StepOutput, records, step_state, taint};
use super::start::OnDrop;
use super::{RunEnd, StepEnd, WorkflowError, conversation_of};
use crate::agent::Agent;
use crate::conversation::inbound::TurnOrigin;
use crate::error::AgentError;
use crate::shared::Shared;

/// Maximum length of an error in an event.
const MAX_ERROR_CHARS: usize = 500;

/// A run whose lease this process holds.
pub(super) struct RunTask {
    pub(super) agent: Agent,
    pub(super) workflow: Arc<Workflow>,
    pub(super) hold: RunLease,
    pub(super) saved: SavedRun,
    pub(super) occasion: TurnOrigin,
    pub(super) conversation: ConversationId,
}

impl RunTask {
    pub(super) fn new(
        agent: Agent,
        workflow: Arc<Workflow>,
        hold: RunLease,
        saved: SavedRun,
    ) -> Result<Self, AgentError> {
        let conversation = conversation_of(&hold.run)?;
        let occasion = saved.occasion();
        Ok(Self { agent, workflow, hold, saved, occasion, conversation })
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        self.agent.shared()
    }

    /// Runs to the end.
    pub(super) async fn run(self, on_drop: OnDrop) -> Result<RunEnd, AgentError> {
        let mut guard = StopIfDropped {
            agent: self.agent.clone(),
            hold: self.hold.clone(),
            conversation: self.conversation.clone(),
            armed: on_drop == OnDrop::Stop,
        };
        let end = self.drive().await;
        guard.armed = false;
        end
    }

    async fn drive(&self) -> Result<RunEnd, AgentError> {
        let planned = self.workflow.planned();
        loop {
            let (run, steps) = self.shared().store.workflow_run(&self.hold.run).await?;
            match next(&planned, &records(&steps)) {
                NextStep::Do { index, attempt } => self.step(&run, &steps, index, attempt).await?,
                NextStep::Failed { index } => {
                    let error = steps.get(index).and_then(|step| step.error.as_ref());
                    let error = error.map_or("unknown", |error| error.for_record());
                    let error = format!("{}: {error}", self.step_label(&steps, index));
                    return self.finish(Err(error)).await;
                }
                NextStep::InDoubt { index } => {
                    let error = format!(
                        "{} was interrupted and may have taken effect, so it is not retried automatically",
                        self.step_label(&steps, index)
                    );
                    return self.finish(Err(error)).await;
                }
                NextStep::Gone { index } => {
                    let name = steps.get(index).map_or("?", |step| step.name.as_str());
                    let error = format!(
                        "step {} is no longer in the file (it was `{name}`): restore it, or resume without it",
                        index + 1
                    );
                    return self.finish(Err(error)).await;
                }
                NextStep::Finished => {
                    let output = self.output(&run, &steps);
                    return self.finish(output).await;
                }
            }
        }
    }

    /// Number and name of a step, for messages.
    fn step_label(&self, steps: &[WorkflowStepRecord], index: usize) -> String {
        let name = steps.get(index).map_or("?", |step| step.name.as_str());
        format!("step {} of {} (`{name}`)", index + 1, self.workflow.steps.len())
    }

    /// The output of the run.
    fn output(&self, run: &WorkflowRun, steps: &[WorkflowStepRecord]) -> Result<String, String> {
        let Some(template) = &self.workflow.output else {
            return Ok(steps.last().and_then(StepOutput::of).unwrap_or_default().text);
        };
        let values = values(&self.workflow, run, steps, |output| output.text);
        let filled = values.fill(template, &self.agent_name());
        filled.map_err(|error| format!("can't render `output`: {}", error.message))
    }

    /// The agent's name, for templates.
    pub(super) fn agent_name(&self) -> Arc<str> {
        let configured = || Arc::clone(&self.shared().workspace.snapshot().config.agent.name);
        self.occasion.speaker.agent.clone().unwrap_or_else(configured)
    }

    /// Stores and logs the end of the run.
    pub(super) async fn finish(&self, output: Result<String, String>) -> Result<RunEnd, AgentError> {
        let shared = self.shared();
        let (outcome, output, error) = match output {
            Ok(output) => (Outcome::Done, Some(Value::String(output)), None),
            Err(error) => (Outcome::Failed, None, Some(error.into())),
        };
        let finish = FinishRun { outcome, output, error, at: shared.now() };
        shared.store.finish_run(&self.hold, finish).await?;
        let (run, steps) = shared.store.workflow_run(&self.hold.run).await?;
        log_ended(shared, &run, &steps, Some(&self.conversation));
        Ok(ended(&run, &steps, self.workflow.steps.len()))
    }
}

/// The values that templates see after these steps; `shown` renders each step's output.
pub(super) fn values(
    workflow: &Workflow,
    run: &WorkflowRun,
    steps: &[WorkflowStepRecord],
    shown: impl Fn(StepOutput) -> String,
) -> StepValues {
    let given = run.parameters.as_object().cloned().unwrap_or_else(Map::new);
    let mut values = StepValues::new(&workflow.parameters, given);
    for step in steps.iter().filter(|step| step_state(step) == StepState::Done) {
        if let Some(output) = StepOutput::of(step) {
            values.add(&step.name, &shown(output));
        }
    }
    values
}

/// How a run ended.
pub(super) fn ended(run: &WorkflowRun, steps: &[WorkflowStepRecord], of: usize) -> RunEnd {
    let saved: Option<SavedRun> = run.occasion.clone().and_then(|saved| serde_json::from_value(saved).ok());
    let tainted = saved.is_none_or(|saved| taint(&saved.occasion(), steps).is_tainted());
    let step = |step: &WorkflowStepRecord| StepEnd {
        name: step.name.clone(),
        done: step_state(step) == StepState::Done,
        output: StepOutput::of(step).map(|output| output.text),
        error: step.error.clone(),
    };
    let outcome = match run.state {
        RunState::Ended(outcome) => outcome,
        RunState::Running => Outcome::Failed,
    };
    RunEnd {
        run: run.id.clone(),
        workflow: run.workflow.clone(),
        outcome,
        output: run.output.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
        error: run.error.clone(),
        tainted: run.tainted || tainted,
        steps: steps.iter().map(step).collect(),
        of,
    }
}

pub(super) fn log_ended(
    shared: &Shared,
    run: &WorkflowRun,
    steps: &[WorkflowStepRecord],
    conversation: Option<&ConversationId>,
) {
    let now = shared.now();
    let done = steps.iter().filter(|step| step_state(step) == StepState::Done).count();
    let failed = run.state == RunState::Ended(Outcome::Failed);
    let took = run.ended_at.unwrap_or(now).since(run.started_at);
    shared.log(Event {
        level: if failed { Level::Error } else { Level::Info },
        session_id: conversation.cloned(),
        user_id: run.started_by.as_deref().map(Into::into),
        duration_ms: Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        error: run.error.as_ref().map(|error| display_line(error.for_record(), MAX_ERROR_CHARS)),
        metadata: Some(json!({
            "run": run.id.as_str(), "workflow": run.workflow, "steps": done, "outcome": run.state.as_str(),
        })),
        ..Event::new(EventType::WorkflowEnded, now)
    });
}

/// Cancels the run if the starter's future is dropped before its end.
struct StopIfDropped {
    agent: Agent,
    hold: RunLease,
    conversation: ConversationId,
    armed: bool,
}

impl Drop for StopIfDropped {
    fn drop(&mut self) {
        // Without a runtime the process is exiting: the next process resumes the run.
        let Some(runtime) = tokio::runtime::Handle::try_current().ok().filter(|_| self.armed) else { return };
        let (agent, hold, conversation) = (self.agent.clone(), self.hold.clone(), self.conversation.clone());
        runtime.spawn(async move {
            agent.cancel(&conversation);
            let shared = agent.shared();
            let error = Some("cancelled by its caller".to_owned().into());
            let finish = FinishRun { outcome: Outcome::Cancelled, output: None, error, at: shared.now() };
            // Fails if another node has taken over the run.
            if shared.store.finish_run(&hold, finish).await.is_ok()
                && let Ok((run, steps)) = shared.store.workflow_run(&hold.run).await
            {
                log_ended(shared, &run, &steps, Some(&conversation));
            }
        });
    }
}

/// The stored state of a run.
pub(super) fn saved(run: &WorkflowRun) -> Result<SavedRun, WorkflowError> {
    let saved = run.occasion.clone().and_then(|saved| serde_json::from_value(saved).ok());
    saved.ok_or_else(|| WorkflowError::Unreadable(run.id.clone()))
}
