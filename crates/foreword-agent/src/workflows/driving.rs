//! Drives a run: asks what comes next, does it, and notes what came of it, until there is nothing left to do. Decides
//! nothing itself.

use std::sync::Arc;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::ConversationId;
use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::{Next, StepState, next};
use foreword_prompt::untrusted::display_line;
use foreword_store::workflow_runs::{FinishRun, RunHold, RunState, WorkflowRun, WorkflowStep};
use foreword_workspace::workflows::{StepValues, Workflow};
use serde_json::{Map, Value, json};

use super::journal::{SavedRun, StepOutput, records, step_state, taint};
use super::starting::OnDrop;
use super::{RunEnd, StepEnd, WorkflowError, conversation_of};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::inbound::Occasion;
use crate::shared::Shared;

/// The longest error in an event.
const SHOWN: usize = 500;

/// A run that this process holds.
pub(super) struct RunTask {
    pub(super) agent: Agent,
    pub(super) workflow: Arc<Workflow>,
    pub(super) hold: RunHold,
    pub(super) saved: SavedRun,
    pub(super) occasion: Occasion,
    pub(super) conversation: ConversationId,
}

impl RunTask {
    pub(super) fn new(
        agent: Agent,
        workflow: Arc<Workflow>,
        (hold, saved): (RunHold, SavedRun),
    ) -> Result<Self, AgentError> {
        let conversation = conversation_of(&hold.run)?;
        let occasion = saved.occasion();
        Ok(Self { agent, workflow, hold, saved, occasion, conversation })
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        self.agent.shared()
    }

    /// Runs it to its end.
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
                Next::Do { index, attempt } => self.step(&run, &steps, (index, attempt)).await?,
                Next::Failed { index } => {
                    let error = steps.get(index).and_then(|step| step.error.as_deref()).unwrap_or("unknown");
                    let error = format!("{}: {error}", self.named(&steps, index));
                    return self.finish(Err(error)).await;
                }
                Next::InDoubt { index } => {
                    let error = format!(
                        "{} was begun and cut off; it may have taken effect, so it is not done again by itself",
                        self.named(&steps, index)
                    );
                    return self.finish(Err(error)).await;
                }
                Next::Gone { index } => {
                    let name = steps.get(index).map_or("?", |step| step.name.as_str());
                    let error = format!(
                        "step {} is no longer in the file (it was `{name}`): put it back, or go on without it",
                        index + 1
                    );
                    return self.finish(Err(error)).await;
                }
                Next::Finished => {
                    let output = self.output(&run, &steps);
                    return self.finish(output).await;
                }
            }
        }
    }

    /// A step in words.
    fn named(&self, steps: &[WorkflowStep], index: usize) -> String {
        let name = steps.get(index).map_or("?", |step| step.name.as_str());
        format!("step {} of {} (`{name}`)", index + 1, self.workflow.steps.len())
    }

    /// What the run gives.
    fn output(&self, run: &WorkflowRun, steps: &[WorkflowStep]) -> Result<String, String> {
        let Some(template) = &self.workflow.output else {
            return Ok(steps.last().and_then(StepOutput::of).unwrap_or_default().text);
        };
        let values = values(&self.workflow, run, steps, |output| output.text);
        let filled = values.fill(template, &self.agent_name());
        filled.map_err(|error| format!("`output` can't be filled in: {}", error.message))
    }

    /// The agent's name, for templates.
    pub(super) fn agent_name(&self) -> Arc<str> {
        let configured = || Arc::clone(&self.shared().workspace.snapshot().config.agent.name);
        self.occasion.agent.clone().unwrap_or_else(configured)
    }

    /// Notes the end of the run, and tells it.
    pub(super) async fn finish(&self, output: Result<String, String>) -> Result<RunEnd, AgentError> {
        let shared = self.shared();
        let (outcome, output, error) = match output {
            Ok(output) => (Outcome::Done, Some(Value::String(output)), None),
            Err(error) => (Outcome::Failed, None, Some(error)),
        };
        let finish = FinishRun { outcome, output, error, at: shared.now() };
        shared.store.finish_run(&self.hold, finish).await?;
        let (run, steps) = shared.store.workflow_run(&self.hold.run).await?;
        log_ended(shared, &run, &steps, Some(&self.conversation));
        Ok(ended(&run, &steps, self.workflow.steps.len()))
    }
}

/// What the templates of a run see once these steps are done; `shown` says how the words of each are seen.
pub(super) fn values(
    workflow: &Workflow,
    run: &WorkflowRun,
    steps: &[WorkflowStep],
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
pub(super) fn ended(run: &WorkflowRun, steps: &[WorkflowStep], of: usize) -> RunEnd {
    let saved: Option<SavedRun> = run.occasion.clone().and_then(|saved| serde_json::from_value(saved).ok());
    let tainted = saved.is_none_or(|saved| taint(&saved.occasion(), steps).is_tainted());
    let step = |step: &WorkflowStep| StepEnd {
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
    steps: &[WorkflowStep],
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
        error: run.error.as_deref().map(|error| display_line(error, SHOWN)),
        metadata: Some(json!({
            "run": run.id.as_str(), "workflow": run.workflow, "steps": done, "outcome": run.state.as_str(),
        })),
        ..Event::new(EventType::WorkflowEnded, now)
    });
}

/// Stops a run whose starter has let go of it before its end.
struct StopIfDropped {
    agent: Agent,
    hold: RunHold,
    conversation: ConversationId,
    armed: bool,
}

impl Drop for StopIfDropped {
    fn drop(&mut self) {
        // Without a runtime the process is coming to its end: whoever starts next goes on with the run.
        let Some(runtime) = tokio::runtime::Handle::try_current().ok().filter(|_| self.armed) else { return };
        let (agent, hold, conversation) = (self.agent.clone(), self.hold.clone(), self.conversation.clone());
        runtime.spawn(async move {
            agent.cancel(&conversation);
            let shared = agent.shared();
            let error = Some("stopped by whoever had started it".to_owned());
            let finish = FinishRun { outcome: Outcome::Cancelled, output: None, error, at: shared.now() };
            // Somebody else may have it by now.
            if shared.store.finish_run(&hold, finish).await.is_ok()
                && let Ok((run, steps)) = shared.store.workflow_run(&hold.run).await
            {
                log_ended(shared, &run, &steps, Some(&conversation));
            }
        });
    }
}

/// What was stored of a run, for whoever goes on with it.
pub(super) fn saved(run: &WorkflowRun) -> Result<SavedRun, WorkflowError> {
    let saved = run.occasion.clone().and_then(|saved| serde_json::from_value(saved).ok());
    saved.ok_or_else(|| WorkflowError::Unreadable(run.id.clone()))
}
