//! Starts a run: checks access, arguments and nesting, then stores the run and drives it.

use std::sync::Arc;

use foreword_core::event::{Event, EventType};
use foreword_core::id::{ConversationId, RunId};
use foreword_core::workflow::enter;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::trust::Trust;
use foreword_store::conversation_settings::{ConversationSettings, SettingsUpdate};
use foreword_store::conversations::NewConversation;
use foreword_store::error::StoreError;
use foreword_store::workflow_runs::{RunState, StartRun};
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::workflows::{Workflow, fit};
use serde_json::{Value, json};

use super::drive::{RunTask, ended};
use super::journal::SavedRun;
use super::{RunEnd, StartWorkflow, WorkflowError, conversation_of};
use crate::agent::Agent;
use crate::conversation::inbound::{Purpose, TurnOrigin};
use crate::conversation::settings;
use crate::error::AgentError;

/// How often to poll a run that another node holds.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

/// What happens to a run when the starter's future is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDrop {
    /// Another process resumes it.
    Leave,
    /// It is cancelled.
    Stop,
}

impl Agent {
    /// Runs a workflow to its end. If a step fails, the run ends as failed; results are kept, and the run can be
    /// resumed.
    ///
    /// # Errors
    /// If the workflow does not exist for this user, its arguments don't fit, it is nested in itself, or the store
    /// fails.
    pub async fn run_workflow(&self, start: StartWorkflow) -> Result<RunEnd, AgentError> {
        self.run_workflow_in(start, None, OnDrop::Leave).await
    }

    /// Like [`Agent::run_workflow`], started in a conversation.
    pub(crate) async fn run_workflow_in(
        &self,
        start: StartWorkflow,
        conversation: Option<ConversationId>,
        on_drop: OnDrop,
    ) -> Result<RunEnd, AgentError> {
        let shared = self.shared();
        if let Some(run) = &start.run
            && let Some(end) = self.join(run).await?
        {
            return Ok(end);
        }
        let snapshot = shared.workspace.snapshot();
        let who = start.occasion.principal(shared);
        let trust = who.trust.effective();
        let user = who.occasion.user.clone();
        let workflow = find(&snapshot, &start.name, user.as_deref(), trust)?;
        let chain = enter(&start.within, &workflow.name).map_err(WorkflowError::from)?;
        let parameters = fit(&workflow, &start.parameters).map_err(WorkflowError::from)?;
        let update = SettingsUpdate::from(start.settings.clone())
            .applied_to(&settings::configured(&workflow.settings));
        let settings = self
            .check_settings(update.into(), start.occasion.speaker.agent.as_deref())?
            .applied_to(&ConversationSettings::default());
        let tainted = start.occasion.purpose.is_tainted();
        let purpose = Purpose::Workflow { within: chain, tainted, ceiling: Some(trust) };
        let occasion = TurnOrigin { purpose, ..start.occasion };
        let run: RunId = match start.run {
            Some(run) => run,
            None => shared.clock_and_rng.id("run")?,
        };
        let saved = SavedRun::new(&occasion, shared.clock_and_rng.random());
        let begin = StartRun {
            run: run.clone(),
            workflow: workflow.name.clone(),
            parameters: Value::Object(parameters),
            conversation,
            started_by: user.as_deref().map(str::to_owned),
            occasion: serde_json::to_value(&saved).ok(),
            workflow_hash: Some(workflow.hash),
            tainted,
            node: shared.node.clone(),
            lease: shared.lease,
            now: shared.now(),
        };
        let hold = match shared.store.start_run(begin).await {
            Ok(hold) => hold,
            // Another caller started it first.
            Err(StoreError::UsedBefore { .. }) => {
                return self.join(&run).await?.ok_or_else(|| WorkflowError::Unreadable(run).into());
            }
            Err(error) => return Err(error.into()),
        };
        self.open_conversation(&run, &occasion, &workflow.name, settings).await?;
        let task = RunTask::new(self.clone(), Arc::clone(&workflow), hold, saved)?;
        task.log_started(user);
        task.run(on_drop).await
    }

    /// Creates the run's conversation.
    async fn open_conversation(
        &self,
        run: &RunId,
        occasion: &TurnOrigin,
        name: &str,
        settings: ConversationSettings,
    ) -> Result<(), AgentError> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let place = occasion.principal(shared).occasion;
        let new = NewConversation {
            user: place.user.as_deref().map(str::to_owned),
            channel: place.channel.as_ref().map(|channel| channel.as_str().to_owned()),
            title: Some(format!("workflow {name}")),
            settings,
            one_of_several: config.roster.has_several(),
            ..NewConversation::new(conversation_of(run)?, &*place.agent, &*place.situation, shared.now())
        };
        shared.store.create_conversation(new).await?;
        Ok(())
    }

    /// Waits for the end of an existing run, and resumes it if its node is dead. `None` if there is no such run.
    async fn join(&self, run: &RunId) -> Result<Option<RunEnd>, AgentError> {
        let shared = self.shared();
        loop {
            let (stored, steps) = match shared.store.workflow_run(run).await {
                Ok(found) => found,
                Err(StoreError::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if stored.state != RunState::Running {
                return Ok(Some(ended(&stored, &steps, steps.len())));
            }
            let now = shared.now();
            if let Some(hold) = shared.store.take_over_run(run, &shared.node, shared.lease, now).await? {
                return self.continue_run(hold).await.map(Some);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// The workflow `name`, if `user` with `trust` may run it. Without permission the error is the same as for a workflow
/// that does not exist.
pub(super) fn find(
    snapshot: &Snapshot,
    name: &str,
    user: Option<&str>,
    trust: Trust,
) -> Result<Arc<Workflow>, WorkflowError> {
    let all = &snapshot.workflows().items;
    let seen: Vec<&Workflow> = all.iter().filter(|workflow| workflow.is_for(snapshot, user, trust)).collect();
    if let Some(found) = seen.iter().find(|workflow| workflow.name == name) {
        return Ok(Arc::new((*found).clone()));
    }
    let known: Vec<String> = seen.iter().map(|workflow| workflow.name.clone()).collect();
    let near = did_you_mean(name, known.iter().map(String::as_str)).map(str::to_owned);
    Err(WorkflowError::Unknown { name: foreword_prompt::untrusted::single_line(name, 80), near, known })
}

impl RunTask {
    fn log_started(&self, user: Option<Arc<str>>) {
        let shared = self.agent.shared();
        shared.log(Event {
            session_id: Some(self.conversation.clone()),
            user_id: user,
            metadata: Some(json!({
                "run": self.hold.run.as_str(), "workflow": self.workflow.name, "steps": self.workflow.steps.len(),
            })),
            ..Event::new(EventType::WorkflowStarted, shared.now())
        });
    }
}
