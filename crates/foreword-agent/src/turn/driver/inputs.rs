//! Waits for the next input of a turn: model events, tool outputs, commands and timers.

use std::time::Duration;

use foreword_core::model::{ModelError, ModelEvent};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn::{Input, Refusal, Step, Wait};
use foreword_core::turn_journal::{JournalStep as Recorded, ToolResult};
use foreword_prompt::untrusted::single_line;
use serde_json::json;
use tokio::time::Instant;

use super::Driver;
use crate::background::compaction;
use crate::conversation::feed::Progress;
use crate::conversation::inbound::Attendance;
use crate::conversation::mailbox::{Command, Mailbox};
use crate::error::AgentError;
use crate::prompt::calibrations;
use crate::tool::ToolOutput;
use crate::turn::cache_diagnosis_worker::Answered;
use crate::turn::model_call::Call;
use crate::turn::payload_log::TOOL_OUTPUT;
use crate::turn::prepare::prepare;
use crate::turn::tool_run;

/// The maximum length of a tool name in the feed.
const MAX_TOOL_NAME_CHARS: usize = 80;

/// The part of an input that the driver records after the step.
pub(super) enum InputRecord {
    /// A model call failed.
    Failed(ModelError),
    /// A tool has ended.
    ToolEnded(ToolResult),
    /// Nothing to record.
    None,
}

impl InputRecord {
    pub(super) fn of(input: &Input) -> Self {
        match input {
            Input::ModelFailed { error, .. } => Self::Failed(error.clone()),
            Input::ToolEnded(ended) => Self::ToolEnded(ToolResult {
                call: ended.call.clone(),
                content: ended.content.clone(),
                is_error: ended.is_error,
            }),
            _ => Self::None,
        }
    }
}

/// The first event to arrive.
enum Arrival {
    Event(Result<ModelEvent, ModelError>),
    Output(ToolOutput),
    Command(Option<Command>),
    Alarm,
    RenewLease,
}

impl Driver {
    /// Waits for the next input.
    pub(super) async fn next_input(
        &mut self,
        wait: &Wait,
        mailbox: &mut Mailbox,
    ) -> Result<Input, AgentError> {
        loop {
            match self.first_arrival(wait, mailbox).await {
                Arrival::Event(Ok(event)) => return Ok(self.model_event(event)),
                Arrival::Event(Err(error)) => {
                    self.end_call();
                    return Ok(Input::ModelFailed { error, chance: self.shared.clock_and_rng.chance() });
                }
                Arrival::Output(output) => return Ok(self.tool_ended(output)),
                Arrival::Command(Some(Command::Cancel)) => return Ok(self.stop()),
                Arrival::Command(Some(Command::Owner { call, answer })) => {
                    return Ok(Input::OwnerSaid { call, answer });
                }
                Arrival::Command(Some(Command::Stop)) => {
                    mailbox.defer(Command::Stop);
                    return self.shut_down().await;
                }
                Arrival::Command(Some(Command::Compact { done, .. })) => {
                    // The requester may have disconnected.
                    let _ = done.send(Err(AgentError::Busy(self.scope.conversation.clone())));
                }
                Arrival::Command(Some(other)) => mailbox.defer(other),
                Arrival::Command(None) => return self.shut_down().await,
                Arrival::Alarm => return Ok(self.alarm(wait)),
                Arrival::RenewLease => {
                    self.journal.flush().await?;
                    self.shared.store.renew_lease(self.journal.hold(), self.shared.now()).await?;
                    self.renew_at = Instant::now() + self.shared.lease / 3;
                }
            }
        }
    }

    async fn first_arrival(&mut self, wait: &Wait, mailbox: &mut Mailbox) -> Arrival {
        let alarm = self.time_left(wait);
        let renew_at = self.renew_at;
        let (call, running) = (self.call.as_mut(), self.running.as_mut());
        let event = async {
            match call {
                Some(call) => call.next().await,
                None => std::future::pending().await,
            }
        };
        let output = async {
            match running {
                Some(running) => running.output().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Commands take precedence over the events of a long answer.
            biased;
            command = mailbox.incoming() => Arrival::Command(command),
            // Before the model events, so that a long answer does not delay the renewal.
            () = tokio::time::sleep_until(renew_at) => Arrival::RenewLease,
            event = event => Arrival::Event(event),
            output = output => Arrival::Output(output),
            () = tokio::time::sleep(alarm) => Arrival::Alarm,
        }
    }

    /// The time until the deadline of `wait`.
    fn time_left(&self, wait: &Wait) -> Duration {
        let deadline = self.turn.deadline();
        let at: Timestamp = match wait {
            Wait::Until(waiting) if waiting.queued => waiting.until,
            Wait::Until(waiting) => waiting.until.min(deadline),
            Wait::ForOwner { until } => *until,
            Wait::ForModel | Wait::ForTools | Wait::ForCompaction => deadline,
        };
        // The timer may fire slightly early, because the clocks differ.
        at.since(self.shared.now()) + Duration::from_millis(1)
    }

    fn alarm(&mut self, wait: &Wait) -> Input {
        if !matches!(wait, Wait::Until(_) | Wait::ForOwner { .. }) {
            self.end_call();
            self.log_unfinished("the turn's time was up");
            self.running = None;
        }
        Input::Tick
    }

    /// Aborts the running call and tools.
    fn stop(&mut self) -> Input {
        self.end_call();
        self.log_unfinished("the turn was stopped");
        self.running = None;
        self.queue.clear();
        Input::Cancel
    }

    /// Handles a shutdown of the process. An interactive turn is cancelled. Other turns, and all turns of a server, are
    /// saved and released, so that the next process resumes them without waiting for the lease.
    async fn shut_down(&mut self) -> Result<Input, AgentError> {
        let input = self.stop();
        let is_served = self.shared.observer.get().is_some();
        if self.scope.origin.attendance == Attendance::Interactive && !is_served {
            return Ok(input);
        }
        self.save().await?;
        self.shared.store.release_turn(self.journal.hold()).await?;
        Err(AgentError::Closed)
    }

    /// Aborts an incomplete call. Its usage so far counts.
    fn end_call(&mut self) {
        let Some(call) = self.call.take() else { return };
        let Some(usage) = call.usage else { return };
        let price = call.price(self.prepared.facts());
        self.cost = self.cost + price;
        self.unfinished = Some((usage, price));
    }

    fn model_event(&mut self, event: ModelEvent) -> Input {
        match &event {
            ModelEvent::Text(text) => self.feed.publish(Progress::Text(text.clone())),
            ModelEvent::Stopped(_) => {
                if let Some(call) = self.call.take() {
                    let price = call.price(self.prepared.facts());
                    self.cost = self.cost + price;
                    let (at, took) = (self.shared.now(), call.since.elapsed());
                    let estimated = self.calibrate(&call);
                    let usage = call.usage.unwrap_or_default();
                    self.log.answered(&self.prepared.model, usage, estimated, price, at, took);
                    if let Some(problem) = call.problem() {
                        self.log.answer_truncated(&self.prepared.model, problem, at);
                    }
                    self.watch_cache(&call);
                    self.add_cost(price);
                }
            }
            ModelEvent::Block(_) | ModelEvent::Usage(_) | ModelEvent::Note(_) => {}
        }
        Input::Model(event)
    }

    /// Submits the call for cache diagnosis.
    fn watch_cache(&self, call: &Call) {
        let answered = Answered::new(call, &self.prepared, self.log.names().clone());
        self.shared.cache_diagnosis_worker.submit(answered, &self.shared);
    }

    /// Calibrates the token estimate with the reported usage. Returns the estimate.
    fn calibrate(&self, call: &Call) -> Option<u64> {
        let (facts, usage) = (self.prepared.facts()?, call.usage?);
        let estimated = calibrations::estimate(facts, &call.request)?;
        self.shared.calibrations.learn(facts, estimated, usage);
        Some(estimated)
    }

    fn tool_ended(&mut self, output: ToolOutput) -> Input {
        let Some(running) = self.running.take() else { return Input::Tick };
        let permit = running.permit;
        // Untrusted output is logged only up to its first line, which has the status.
        let error =
            if output.from_outside { output.text.lines().next().unwrap_or_default() } else { &output.text };
        let failed = output.is_error.then(|| error.to_owned());
        let payload = || {
            json!({
                "tool": permit.tool(), "call": permit.call().as_str(), "arguments": permit.arguments(),
                "isError": output.is_error, "output": output.text,
            })
        };
        self.log.payload(TOOL_OUTPUT, payload, self.shared.now());
        let (ended, events) = tool_run::ended(&permit, output, self.shared.clock_and_rng.random());
        self.log.tool_ended(&permit, failed.as_deref(), self.shared.now(), running.since.elapsed());
        events.into_iter().for_each(|event| self.log.note(event));
        self.feed.publish(Progress::ToolResult {
            call: ended.call.clone(),
            tool: permit.tool().to_owned(),
            content: ended.content.clone(),
            is_error: ended.is_error,
        });
        Input::ToolEnded(ended)
    }

    /// Records an input after the turn has processed it.
    pub(super) async fn after(&mut self, record: InputRecord, step: &Step) -> Result<(), AgentError> {
        let now = self.shared.now();
        match record {
            InputRecord::Failed(error) => {
                let waiting = match step {
                    Step::Wait(Wait::Until(waiting)) => Some(waiting),
                    _ => None,
                };
                let paid = self.unfinished.take();
                self.log.call_failed(&error, &self.prepared.model, self.attempt, waiting, paid, now);
                if let Some((_, price)) = paid {
                    self.add_cost(price);
                }
            }
            InputRecord::ToolEnded(result) => {
                // The saved state includes the result, so a resumed turn does not repeat the tool.
                let saved = Some(self.saved());
                self.journal.record(Recorded::ToolFinished(result), saved, now).await?;
                self.start_tool().await?;
            }
            InputRecord::None => {}
        }
        for refusal in self.turn.take_refusals() {
            self.log.tool_blocked(&refusal, now);
            let Refusal { call, tool, reason } = refusal;
            // The name of an unknown tool is untrusted.
            let tool = single_line(&tool, MAX_TOOL_NAME_CHARS);
            self.feed.publish(Progress::ToolResult { call, tool, content: reason, is_error: true });
        }
        Ok(())
    }

    /// Compacts the history because it exceeds the context window.
    pub(super) async fn compact(&mut self, mailbox: &mut Mailbox) -> Input {
        self.feed.publish(Progress::Status(
            "The conversation is too long for the model. Summarising...".to_owned(),
        ));
        let hold = self.journal.hold();
        let shorten = compaction::compact(&self.shared, &self.scope, &self.prepared, hold);
        let shortened = tokio::select! {
            biased;
            () = mailbox.cancelled() => return self.stop(),
            shortened = compaction::with_lease(&self.shared, hold, shorten) => shortened,
        };
        let prepared = match shortened {
            Ok(shortened) => {
                self.cost = self.cost + shortened.cost;
                self.feed.publish(Progress::Compacted);
                let prepared = prepare(&self.shared, &self.scope, Some(&self.drafts.turn), None).await;
                prepared.map(|prepared| (prepared, shortened.usage))
            }
            Err(error) => Err(error),
        };
        match prepared {
            Ok((prepared, usage)) => {
                self.prepared = prepared;
                self.prepared.narrow(&mut self.turn);
                self.prepared.replace_context(&mut self.drafts);
                self.log.prompt_built(&self.prepared, self.shared.now());
                Input::Compacted(Ok(usage))
            }
            Err(error) => Input::Compacted(Err(error.cause().for_record().clone())),
        }
    }
}
