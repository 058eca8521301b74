//! Executes one step of a run: fills in its templates, stores its start, executes it, and stores its result.

use std::sync::Arc;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::{CallId, TurnId};
use foreword_core::message::Provenance;
use foreword_core::taint::{Taint, taint_of_history};
use foreword_core::turn::{Permit, admit_step};
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_core::workflow::PlannedStep;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, display_line, frame};
use foreword_store::error::StoreError;
use foreword_store::messages::IdempotencyKey;
use foreword_store::workflow_runs::{StartStep, WorkflowRun, WorkflowStepRecord};
use foreword_workspace::workflows::{StepAction, WorkflowStep as Step};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::drive::{RunTask, values};
use super::journal::{StepOutput, provenance, taint};
use super::progress::{RunProgress, StepKind};
use crate::conversation::agent_routing;
use crate::conversation::inbound::{self, Inbound, Purpose, TurnOrigin};
use crate::error::AgentError;
use crate::tool::{ToolCall, ToolOutput};
use crate::turn::payload_log;

/// Maximum length of a stored error and of a reason in an event.
const MAX_ERROR_CHARS: usize = 2_000;

/// The step being executed.
struct StepContext<'a> {
    run: &'a WorkflowRun,
    /// The steps before it.
    before: &'a [WorkflowStepRecord],
    index: usize,
    attempt: u64,
    taint: Taint,
}

/// Whether the end of a step is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It succeeded or failed.
    Known,
    /// It was interrupted and may have taken effect. It stays stored as started, so that it is not retried
    /// automatically.
    InDoubt,
}

impl RunTask {
    /// Executes the step at `index` and stores its result.
    pub(super) async fn step(
        &self,
        run: &WorkflowRun,
        steps: &[WorkflowStepRecord],
        index: usize,
        attempt: u64,
    ) -> Result<(), AgentError> {
        let planned = self.workflow.planned();
        let (Some(step), Some(plan)) = (self.workflow.steps.get(index), planned.get(index)) else {
            // Without an error the driver would ask for this step forever.
            let id = format!("{}/{}", self.hold.run, index + 1);
            return Err(StoreError::NotFound { what: "step", id }.into());
        };
        let before = steps.get(..index).unwrap_or(steps);
        let context = StepContext { run, before, index, attempt, taint: taint(&self.occasion, before) };
        self.send_started(step, index);
        let (result, end) = match &step.action {
            StepAction::Prompt(template) => (self.prompt(&context, plan, template).await?, End::Known),
            StepAction::Tool { name, arguments } => self.tool(&context, plan, name, arguments).await?,
        };
        let shared = self.shared();
        if end == End::Known {
            let number = index as u64 + 1;
            let stored = result.as_ref().map(StepOutput::to_json).map_err(|error| error.clone().into());
            shared.store.finish_workflow_step(&self.hold, number, stored, shared.now()).await?;
        }
        if result.as_ref().is_ok_and(|output| output.tainted) && !run.tainted {
            shared.store.taint_run(&self.hold, shared.now()).await?;
        }
        let result = result.map(|output| output.text).map_err(Into::into);
        shared.runs.send(RunProgress::StepEnded { run: self.hold.run.clone(), number: index + 1, result });
        Ok(())
    }

    fn send_started(&self, step: &Step, index: usize) {
        let kind = match &step.action {
            StepAction::Prompt(_) => StepKind::Prompt,
            StepAction::Tool { name, .. } => StepKind::Tool(name.clone()),
        };
        let (number, of) = (index + 1, self.workflow.steps.len());
        let (run, name) = (self.hold.run.clone(), step.name.clone());
        self.shared().runs.send(RunProgress::StepStarted { run, number, of, name, kind });
    }

    /// Stores the start of a step.
    async fn begin(
        &self,
        context: &StepContext<'_>,
        plan: &PlannedStep,
        side_effects: bool,
    ) -> Result<(), AgentError> {
        let step = StartStep {
            number: context.index as u64 + 1,
            name: plan.name.clone(),
            side_effects,
            definition: Some(plan.definition),
        };
        let shared = self.shared();
        shared.store.start_workflow_step(&self.hold, step, shared.now()).await?;
        Ok(())
    }

    /// Sends the prompt in the run's conversation and waits for the answer.
    async fn prompt(
        &self,
        context: &StepContext<'_>,
        plan: &PlannedStep,
        template: &str,
    ) -> Result<Result<StepOutput, String>, AgentError> {
        self.begin(context, plan, false).await?;
        let marker = Marker::from_random_bytes(self.saved.marker(context.index + 1, context.attempt));
        // Untrusted output is framed wherever a prompt quotes it.
        let shown = |output: StepOutput| match output.outside {
            Some(tool) => {
                frame(&[Untrusted::new(Origin::tool(&tool), output.text)], &marker).as_str().to_owned()
            }
            None => output.text,
        };
        let values = values(&self.workflow, context.run, context.before, shown);
        let text = match values.fill(template, &self.agent_name()) {
            Ok(text) => text,
            Err(error) => return Ok(Err(format!("can't render its prompt: {}", error.message))),
        };
        let key = format!("{}/{}/{}", self.hold.run, context.index + 1, context.attempt);
        let inbound = Inbound {
            conversation: self.conversation.clone(),
            origin: self.origin_of(context),
            text,
            key: Some(IdempotencyKey { scope: "workflow".to_owned(), key }),
        };
        let receipt = match self.agent.send(inbound).await {
            Ok(receipt) => receipt,
            Err(AgentError::Store(StoreError::UsedBefore { .. })) => {
                return Ok(Err("its prompt has changed since it was started".to_owned()));
            }
            Err(error @ (AgentError::EmptyMessage | AgentError::TooLong { .. })) => {
                return Ok(Err(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let answer = self.with_lease(self.agent.answer_to(&receipt)).await??;
        match answer.turn.state {
            TurnState::Ended(Outcome::Done) => {
                let tainted = self.is_tainted().await?;
                Ok(Ok(StepOutput { text: answer.text, tainted, ..StepOutput::default() }))
            }
            state => {
                let failure = answer.turn.failure.map(|failure| failure.detail.for_record().clone());
                let why = failure.unwrap_or_else(|| format!("its turn was {state}"));
                Ok(Err(display_line(&why, MAX_ERROR_CHARS)))
            }
        }
    }

    /// Whether the run's conversation is tainted.
    async fn is_tainted(&self) -> Result<bool, AgentError> {
        let shared = self.shared();
        let history = shared.store.history(&self.conversation).await?;
        let user = self.occasion.principal(shared).occasion.user;
        Ok(taint_of_history(&history.messages, user.as_deref()).is_tainted())
    }

    /// The occasion of a step: the run's, with the current taint.
    fn origin_of(&self, context: &StepContext<'_>) -> TurnOrigin {
        let purpose = match &self.occasion.purpose {
            Purpose::Workflow { within, ceiling, .. } => Purpose::Workflow {
                within: within.clone(),
                tainted: context.taint.is_tainted(),
                ceiling: *ceiling,
            },
            other => other.clone(),
        };
        TurnOrigin { purpose, ..self.occasion.clone() }
    }

    /// Calls the tool, if it is permitted.
    async fn tool(
        &self,
        context: &StepContext<'_>,
        plan: &PlannedStep,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(Result<StepOutput, String>, End), AgentError> {
        let shared = self.shared();
        let values = values(&self.workflow, context.run, context.before, |output| output.text);
        let arguments = match values.fill_arguments(arguments, &self.agent_name()) {
            Ok(arguments) => arguments,
            Err(error) => {
                self.begin(context, plan, false).await?;
                let why = format!("can't render its arguments: {}", error.message);
                return Ok((Err(why), End::Known));
            }
        };
        if let Some(outside) = &shared.outside {
            outside.settled().await;
        }
        let snapshot = agent_routing::snapshot(shared, self.occasion.speaker.agent.as_deref())?;
        let who = self.occasion.principal(shared);
        let trust = who.trust.effective();
        let starter = inbound::provenance(&who);
        let tools = shared.tool_sets.at(shared, &snapshot.config, &shared.outside_tools(), trust).rules;
        let call = CallId::new(format!("{}/{}/{}", self.hold.run, context.index + 1, context.attempt))?;
        let permit = match admit_step(call, tool, &Value::Object(arguments), &tools, &context.taint) {
            Ok(permit) => permit,
            Err(refusal) => {
                self.begin(context, plan, false).await?;
                self.log_blocked(tool, &refusal.reason);
                return Ok((Err(refusal.reason), End::Known));
            }
        };
        self.begin(context, plan, permit.has_side_effects()).await?;
        let call = self.tool_call(context, &permit, trust, starter)?;
        let since = Instant::now();
        let limit = snapshot.config.limits.time;
        let output = self.with_lease(tokio::time::timeout(limit, self.run_tool(&permit, call))).await?;
        let end = if output.is_err() && permit.has_side_effects() { End::InDoubt } else { End::Known };
        let output = output.unwrap_or_else(|_| {
            let after = limit.as_secs();
            ToolOutput::failed(format!("stopped after {after} s: it may have taken effect in part"))
        });
        self.log_tool(&permit, &output, since);
        Ok((self.step_output(context, tool, output).await?, end))
    }

    /// Converts a tool's output and updates the taint of the run.
    async fn step_output(
        &self,
        context: &StepContext<'_>,
        tool: &str,
        output: ToolOutput,
    ) -> Result<Result<StepOutput, String>, AgentError> {
        let shared = self.shared();
        output.events.into_iter().for_each(|event| shared.log(self.labelled(event)));
        if output.is_error {
            if output.from_outside && !context.run.tainted {
                shared.store.taint_run(&self.hold, shared.now()).await?;
            }
            let error: String = output.text.chars().take(MAX_ERROR_CHARS).collect();
            return Ok(Err(error));
        }
        let outside = output.from_outside.then(|| tool.to_owned());
        let tainted = output.from_outside || context.taint.is_tainted();
        Ok(Ok(StepOutput { text: output.text, outside, tainted, skipped: false }))
    }

    async fn run_tool(&self, permit: &Permit, call: ToolCall) -> ToolOutput {
        match self.shared().find_tool(permit.tool()).await {
            Some(tool) => tool.run(permit.arguments().clone(), call).await,
            None => ToolOutput::failed("not run: this tool is no longer available"),
        }
    }

    fn tool_call(
        &self,
        context: &StepContext<'_>,
        permit: &Permit,
        trust: Trust,
        starter: Provenance,
    ) -> Result<ToolCall, AgentError> {
        let shared = self.shared();
        let snapshot = agent_routing::snapshot(shared, self.occasion.speaker.agent.as_deref())?;
        let place = self.occasion.principal(shared).occasion;
        Ok(ToolCall {
            id: permit.call().clone(),
            conversation: self.conversation.clone(),
            turn: TurnId::new(permit.call().as_str())?,
            trust,
            user: place.user,
            agent: place.agent,
            tainted: context.taint.is_tainted(),
            confirmed: permit.is_confirmed(),
            provenance: provenance(&context.taint, starter),
            origin: self.origin_of(context),
            host: shared.host.clone(),
            snapshot,
            workspace: Arc::clone(&shared.workspace),
            store: shared.store.clone(),
            now: shared.now(),
            random: shared.clock_and_rng.random(),
        })
    }

    /// Runs `work` and renews the run's lease meanwhile.
    async fn with_lease<T>(&self, work: impl Future<Output = T>) -> Result<T, AgentError> {
        let shared = self.shared();
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = tokio::time::sleep(shared.lease / 3) => {
                    shared.store.renew_run(&self.hold, shared.now()).await?;
                }
            }
        }
    }

    /// Adds the conversation and user of this run to an event.
    fn labelled(&self, event: Event) -> Event {
        Event {
            session_id: Some(self.conversation.clone()),
            user_id: event.user_id.or_else(|| self.occasion.speaker.user.clone()),
            ..event
        }
    }

    fn log_tool(&self, permit: &Permit, output: &ToolOutput, since: Instant) {
        let shared = self.shared();
        let millis = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let metadata = json!({
            "tool": permit.tool(), "call": permit.call().as_str(), "isError": output.is_error,
            "run": self.hold.run.as_str(),
        });
        let call = Event::new(EventType::ToolCall, shared.now());
        let called = Event { duration_ms: Some(millis), metadata: Some(metadata.clone()), ..call };
        shared.log(self.labelled(called));
        shared.recorder.payload(|| {
            let mut metadata = metadata.clone();
            metadata["arguments"] = permit.arguments().clone().into();
            metadata["output"] = output.text.as_str().into();
            self.labelled(payload_log::payload(payload_log::TOOL_OUTPUT, metadata, shared.now()))
        });
        if output.is_error {
            // The log gets only the first line of untrusted text, which contains the status.
            let first_line = output.text.lines().next().unwrap_or_default();
            let error = Some(display_line(first_line, MAX_ERROR_CHARS));
            let failed = Event::new(EventType::ToolError, shared.now());
            let failed = Event { level: Level::Warn, error, metadata: Some(metadata), ..failed };
            shared.log(self.labelled(failed));
        }
    }

    fn log_blocked(&self, tool: &str, reason: &str) {
        let shared = self.shared();
        let reason = display_line(reason, MAX_ERROR_CHARS);
        let metadata = json!({ "tool": tool, "reason": reason, "run": self.hold.run.as_str() });
        let blocked = Event::new(EventType::ToolBlocked, shared.now());
        shared.log(self.labelled(Event { metadata: Some(metadata), ..blocked }));
    }
}
