//! One step of a run: its templates are filled in, it is put on record, done, and what came of it is put on record.

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
use foreword_store::turns::Answer;
use foreword_store::workflow_runs::{StartStep, WorkflowRun, WorkflowStep};
use foreword_workspace::workflows::{StepAction, WorkflowStep as Step};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::driving::{RunTask, values};
use super::journal::{StepOutput, provenance, taint};
use super::progress::{RunProgress, StepKind};
use crate::agent::{Receipt, request};
use crate::error::AgentError;
use crate::inbound::{self, Inbound, Occasion, Purpose};
use crate::payload_log;
use crate::tool::{ToolCall, ToolOutput};
use crate::whose;

/// The longest error that is kept of a step, and the longest reason in an event.
const LONGEST_ERROR: usize = 2_000;

/// What is done in one step.
struct Doing<'a> {
    run: &'a WorkflowRun,
    /// The steps before it.
    before: &'a [WorkflowStep],
    index: usize,
    attempt: u64,
    taint: Taint,
}

/// What is known of the end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It came to one, good or bad.
    Known,
    /// It was cut off and may have taken effect: it stays on record as begun, so that nobody does it again unasked.
    InDoubt,
}

impl RunTask {
    /// Does the step at `index`, and notes what came of it.
    pub(super) async fn step(
        &self,
        run: &WorkflowRun,
        steps: &[WorkflowStep],
        (index, attempt): (usize, u64),
    ) -> Result<(), AgentError> {
        let planned = self.workflow.planned();
        let (Some(step), Some(plan)) = (self.workflow.steps.get(index), planned.get(index)) else {
            // Nothing would come of it, and whoever drives would ask for it for ever.
            let id = format!("{}/{}", self.hold.run, index + 1);
            return Err(StoreError::NotFound { what: "step", id }.into());
        };
        let before = steps.get(..index).unwrap_or(steps);
        let doing = Doing { run, before, index, attempt, taint: taint(&self.occasion, before) };
        self.tell_started(step, index);
        let (result, end) = match &step.action {
            StepAction::Prompt(template) => (self.prompt(&doing, plan, template).await?, End::Known),
            StepAction::Tool { name, arguments } => self.tool(&doing, plan, (name, arguments)).await?,
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
        shared.runs.tell(RunProgress::StepEnded { run: self.hold.run.clone(), number: index + 1, result });
        Ok(())
    }

    fn tell_started(&self, step: &Step, index: usize) {
        let kind = match &step.action {
            StepAction::Prompt(_) => StepKind::Prompt,
            StepAction::Tool { name, .. } => StepKind::Tool(name.clone()),
        };
        let (number, of) = (index + 1, self.workflow.steps.len());
        let (run, name) = (self.hold.run.clone(), step.name.clone());
        self.shared().runs.tell(RunProgress::StepStarted { run, number, of, name, kind });
    }

    /// Puts on record that a step begins.
    async fn begin(
        &self,
        doing: &Doing<'_>,
        plan: &PlannedStep,
        side_effects: bool,
    ) -> Result<(), AgentError> {
        let step = StartStep {
            number: doing.index as u64 + 1,
            name: plan.name.clone(),
            side_effects,
            definition: Some(plan.definition),
        };
        let shared = self.shared();
        shared.store.start_workflow_step(&self.hold, step, shared.now()).await?;
        Ok(())
    }

    /// Says it to the model, in the run's conversation, and waits for the answer.
    async fn prompt(
        &self,
        doing: &Doing<'_>,
        plan: &PlannedStep,
        template: &str,
    ) -> Result<Result<StepOutput, String>, AgentError> {
        self.begin(doing, plan, false).await?;
        let marker = Marker::from_random_bytes(self.saved.marker(doing.index + 1, doing.attempt));
        // The words of others stay theirs, wherever a prompt quotes them.
        let shown = |output: StepOutput| match output.outside {
            Some(tool) => {
                frame(&[Untrusted::new(Origin::tool(&tool), output.text)], &marker).as_str().to_owned()
            }
            None => output.text,
        };
        let values = values(&self.workflow, doing.run, doing.before, shown);
        let text = match values.fill(template, &self.agent_name()) {
            Ok(text) => text,
            Err(error) => return Ok(Err(format!("its prompt can't be filled in: {}", error.message))),
        };
        let key = format!("{}/{}/{}", self.hold.run, doing.index + 1, doing.attempt);
        let inbound = Inbound {
            conversation: self.conversation.clone(),
            occasion: self.occasion_of(doing),
            text,
            key: Some(IdempotencyKey { scope: "workflow".to_owned(), key }),
        };
        let receipt = match self.agent.send(inbound).await {
            Ok(receipt) => receipt,
            Err(AgentError::Store(StoreError::UsedBefore { .. })) => {
                return Ok(Err("it reads differently than when it was begun".to_owned()));
            }
            Err(error @ (AgentError::NoWords | AgentError::TooLong { .. })) => {
                return Ok(Err(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let answer = self.holding(self.answer(&receipt)).await??;
        match answer.turn.state {
            TurnState::Ended(Outcome::Done) => {
                let tainted = self.is_tainted().await?;
                Ok(Ok(StepOutput { text: answer.text, tainted, ..StepOutput::default() }))
            }
            state => {
                let failure = answer.turn.failure.map(|failure| failure.detail.for_record().clone());
                let why = failure.unwrap_or_else(|| format!("its turn was {state}"));
                Ok(Err(display_line(&why, LONGEST_ERROR)))
            }
        }
    }

    /// Waits for the answer. A turn that its node has left is taken up here as soon as it may be.
    async fn answer(&self, receipt: &Receipt) -> Result<Answer, AgentError> {
        let mut answer = std::pin::pin!(self.agent.answer_to(receipt));
        loop {
            if receipt.before {
                self.agent.recover_conversation(&self.conversation).await?;
            }
            tokio::select! {
                answer = &mut answer => return answer,
                () = tokio::time::sleep(self.shared().lease / 2) => {}
            }
        }
    }

    /// Whether anything in the run's conversation came from outside.
    async fn is_tainted(&self) -> Result<bool, AgentError> {
        let shared = self.shared();
        let history = shared.store.history(&self.conversation).await?;
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let user = request(shared, &self.occasion).identify(&config).occasion.user;
        Ok(taint_of_history(&history.messages, user.as_deref()).is_tainted())
    }

    /// The occasion of a step: the run's, with all it has read so far.
    fn occasion_of(&self, doing: &Doing<'_>) -> Occasion {
        let purpose = match &self.occasion.purpose {
            Purpose::Workflow { within, ceiling, .. } => Purpose::Workflow {
                within: within.clone(),
                tainted: doing.taint.is_tainted(),
                ceiling: *ceiling,
            },
            other => other.clone(),
        };
        Occasion { purpose, ..self.occasion.clone() }
    }

    /// Calls the tool, if it may be called.
    async fn tool(
        &self,
        doing: &Doing<'_>,
        plan: &PlannedStep,
        (tool, arguments): (&str, &Map<String, Value>),
    ) -> Result<(Result<StepOutput, String>, End), AgentError> {
        let shared = self.shared();
        let values = values(&self.workflow, doing.run, doing.before, |output| output.text);
        let arguments = match values.fill_arguments(arguments, &self.agent_name()) {
            Ok(arguments) => arguments,
            Err(error) => {
                self.begin(doing, plan, false).await?;
                let why = format!("its arguments can't be filled in: {}", error.message);
                return Ok((Err(why), End::Known));
            }
        };
        if let Some(outside) = &shared.outside {
            outside.settled().await;
        }
        let snapshot = whose::snapshot(shared, self.occasion.agent.as_deref())?;
        let who = request(shared, &self.occasion).identify(&snapshot.config);
        let trust = who.trust.effective();
        let starter = inbound::provenance(who.user);
        let tools = shared.tool_sets.at(shared, &snapshot.config, &shared.outside_tools(), trust).rules;
        let call = CallId::new(format!("{}/{}/{}", self.hold.run, doing.index + 1, doing.attempt))?;
        let permit = match admit_step((call, tool), &Value::Object(arguments), &tools, &doing.taint) {
            Ok(permit) => permit,
            Err(refusal) => {
                self.begin(doing, plan, false).await?;
                self.log_blocked(tool, &refusal.reason);
                return Ok((Err(refusal.reason), End::Known));
            }
        };
        self.begin(doing, plan, permit.has_side_effects()).await?;
        let call = self.tool_call(doing, &permit, (trust, starter))?;
        let since = Instant::now();
        let limit = snapshot.config.limits.time;
        let output = self.holding(tokio::time::timeout(limit, self.output_of(&permit, call))).await?;
        let end = if output.is_err() && permit.has_side_effects() { End::InDoubt } else { End::Known };
        let output = output.unwrap_or_else(|_| {
            let after = limit.as_secs();
            ToolOutput::failed(format!("stopped after {after} s: it may have taken effect in part"))
        });
        self.log_tool(&permit, &output, since);
        Ok((self.taken(doing, tool, output).await?, end))
    }

    /// What a tool's output means for the run.
    async fn taken(
        &self,
        doing: &Doing<'_>,
        tool: &str,
        output: ToolOutput,
    ) -> Result<Result<StepOutput, String>, AgentError> {
        let shared = self.shared();
        output.events.into_iter().for_each(|event| shared.log(self.about(event)));
        if output.is_error {
            if output.from_outside && !doing.run.tainted {
                shared.store.taint_run(&self.hold, shared.now()).await?;
            }
            let error: String = output.text.chars().take(LONGEST_ERROR).collect();
            return Ok(Err(error));
        }
        let outside = output.from_outside.then(|| tool.to_owned());
        let tainted = output.from_outside || doing.taint.is_tainted();
        Ok(Ok(StepOutput { text: output.text, outside, tainted, skipped: false }))
    }

    async fn output_of(&self, permit: &Permit, call: ToolCall) -> ToolOutput {
        match self.shared().tool_at_hand(permit.tool()).await {
            Some(tool) => tool.run(permit.arguments().clone(), call).await,
            None => ToolOutput::failed("not run: this tool is gone"),
        }
    }

    fn tool_call(
        &self,
        doing: &Doing<'_>,
        permit: &Permit,
        (trust, starter): (Trust, Provenance),
    ) -> Result<ToolCall, AgentError> {
        let shared = self.shared();
        let snapshot = whose::snapshot(shared, self.occasion.agent.as_deref())?;
        let place = request(shared, &self.occasion).identify(&snapshot.config).occasion;
        Ok(ToolCall {
            id: permit.call().clone(),
            conversation: self.conversation.clone(),
            turn: TurnId::new(permit.call().as_str())?,
            trust,
            user: place.user,
            agent: place.agent,
            tainted: doing.taint.is_tainted(),
            confirmed: permit.is_confirmed(),
            provenance: provenance(&doing.taint, starter),
            occasion: self.occasion_of(doing),
            host: shared.host.clone(),
            snapshot,
            workspace: Arc::clone(&shared.workspace),
            store: shared.store.clone(),
            now: shared.now(),
            random: shared.surroundings.random(),
        })
    }

    /// Does `work` and says meanwhile that this node lives.
    async fn holding<T>(&self, work: impl Future<Output = T>) -> Result<T, AgentError> {
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

    /// An event with the names of this run on it.
    fn about(&self, event: Event) -> Event {
        Event {
            session_id: Some(self.conversation.clone()),
            user_id: event.user_id.or_else(|| self.occasion.user.clone()),
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
        shared.log(self.about(called));
        shared.recorder.payload(|| {
            let mut metadata = metadata.clone();
            metadata["arguments"] = permit.arguments().clone().into();
            metadata["output"] = output.text.as_str().into();
            self.about(payload_log::payload(payload_log::TOOL_OUTPUT, metadata, shared.now()))
        });
        if output.is_error {
            // Of words from outside the log gets only how it ended, which is the first line.
            let told = output.text.lines().next().unwrap_or_default();
            let error = Some(display_line(told, LONGEST_ERROR));
            let failed = Event::new(EventType::ToolError, shared.now());
            let failed = Event { level: Level::Warn, error, metadata: Some(metadata), ..failed };
            shared.log(self.about(failed));
        }
    }

    fn log_blocked(&self, tool: &str, reason: &str) {
        let shared = self.shared();
        let reason = display_line(reason, LONGEST_ERROR);
        let metadata = json!({ "tool": tool, "reason": reason, "run": self.hold.run.as_str() });
        let blocked = Event::new(EventType::ToolBlocked, shared.now());
        shared.log(self.about(Event { metadata: Some(metadata), ..blocked }));
    }
}
