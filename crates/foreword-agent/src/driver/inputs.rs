//! What happens next to a turn: a piece of an answer, a tool's end, a word from somebody, or time.

use std::time::Duration;

use foreword_core::model::{ModelError, ModelEvent};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn::{Input, Refusal, Step, Wait};
use foreword_core::turn_journal::{Step as Recorded, ToolResult};
use foreword_prompt::untrusted::single_line;
use serde_json::json;
use tokio::time::Instant;

use super::Driver;
use crate::cache_watch::Answered;
use crate::calibrations;
use crate::calling::Call;
use crate::compaction;
use crate::conversation::{Command, Mailbox};
use crate::error::AgentError;
use crate::feed::Progress;
use crate::inbound::Watched;
use crate::payload_log::TOOL_OUTPUT;
use crate::prepare::prepare;
use crate::tool::ToolOutput;
use crate::toolbox;

/// The longest name of a tool that is shown.
const SHOWN_NAME: usize = 80;

/// What happened, as far as something has to be recorded of it.
pub(super) enum Happened {
    /// A call to the model failed.
    Failed(ModelError),
    /// A tool has ended.
    ToolEnded(ToolResult),
    /// Anything else.
    Other,
}

impl Happened {
    pub(super) fn of(input: &Input) -> Self {
        match input {
            Input::ModelFailed { error, .. } => Self::Failed(error.clone()),
            Input::ToolEnded(ended) => Self::ToolEnded(ToolResult {
                call: ended.call.clone(),
                content: ended.content.clone(),
                is_error: ended.is_error,
            }),
            _ => Self::Other,
        }
    }
}

/// What came first.
enum Came {
    Event(Result<ModelEvent, ModelError>),
    Output(ToolOutput),
    Mail(Option<Command>),
    Alarm,
    RenewLease,
}

impl Driver {
    /// Waits for what happens next.
    pub(super) async fn next_input(
        &mut self,
        wait: &Wait,
        mailbox: &mut Mailbox,
    ) -> Result<Input, AgentError> {
        loop {
            match self.first_to_come(wait, mailbox).await {
                Came::Event(Ok(event)) => return Ok(self.heard(event)),
                Came::Event(Err(error)) => {
                    self.end_call();
                    return Ok(Input::ModelFailed { error, chance: self.shared.surroundings.chance() });
                }
                Came::Output(output) => return Ok(self.tool_ended(output)),
                Came::Mail(Some(Command::Cancel)) => return Ok(self.stop()),
                Came::Mail(Some(Command::Owner { call, answer })) => {
                    return Ok(Input::OwnerSaid { call, answer });
                }
                Came::Mail(Some(Command::Stop)) => {
                    mailbox.put_back(Command::Stop);
                    return self.shut_down().await;
                }
                Came::Mail(Some(Command::Compact { done, .. })) => {
                    // Whoever asked may be gone.
                    let _ = done.send(Err(AgentError::Busy(self.placed.conversation.clone())));
                }
                Came::Mail(Some(other)) => mailbox.put_back(other),
                Came::Mail(None) => return self.shut_down().await,
                Came::Alarm => return Ok(self.alarm(wait)),
                Came::RenewLease => {
                    self.journal.settle().await?;
                    self.shared.store.renew_lease(self.journal.hold(), self.shared.now()).await?;
                    self.renew_at = Instant::now() + self.shared.lease / 3;
                }
            }
        }
    }

    async fn first_to_come(&mut self, wait: &Wait, mailbox: &mut Mailbox) -> Came {
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
            // A word from outside comes before another piece of a long answer.
            biased;
            command = mailbox.incoming() => Came::Mail(command),
            // A long answer has many pieces: the lease is renewed by the clock, not in the pause between two of them.
            () = tokio::time::sleep_until(renew_at) => Came::RenewLease,
            event = event => Came::Event(event),
            output = output => Came::Output(output),
            () = tokio::time::sleep(alarm) => Came::Alarm,
        }
    }

    /// How long until time itself matters.
    fn time_left(&self, wait: &Wait) -> Duration {
        let deadline = self.turn.deadline();
        let at: Timestamp = match wait {
            Wait::Until(waiting) if waiting.queued => waiting.until,
            Wait::Until(waiting) => waiting.until.min(deadline),
            Wait::ForOwner { until } => *until,
            Wait::ForModel | Wait::ForTools | Wait::ForCompaction => deadline,
        };
        // A timer may fire a little early by the other clock.
        at.since(self.shared.now()) + Duration::from_millis(1)
    }

    fn alarm(&mut self, wait: &Wait) -> Input {
        if !matches!(wait, Wait::Until(_) | Wait::ForOwner { .. }) {
            self.end_call();
            self.note_unfinished("the turn's time was up");
            self.running = None;
        }
        Input::Tick
    }

    /// Lets go of whatever is under way.
    fn stop(&mut self) -> Input {
        self.end_call();
        self.note_unfinished("the turn was stopped");
        self.running = None;
        self.queue.clear();
        Input::Cancel
    }

    /// The process ends. Where somebody sits at its screen, the turn ends with it; else whoever starts next goes on with it, at
    /// once: it is not waited for the lease. A client of a server comes back to it as well.
    async fn shut_down(&mut self) -> Result<Input, AgentError> {
        let input = self.stop();
        let is_served = self.shared.onlooker.get().is_some();
        if self.placed.occasion.watched == Watched::AtScreen && !is_served {
            return Ok(input);
        }
        self.save().await?;
        self.shared.store.leave_turn(self.journal.hold()).await?;
        Err(AgentError::Closed)
    }

    /// Lets go of a call that is not complete. What it has taken so far is to be paid for all the same.
    fn end_call(&mut self) {
        let Some(call) = self.call.take() else { return };
        let Some(usage) = call.usage else { return };
        let price = call.price(self.prepared.facts());
        self.cost = self.cost + price;
        self.unfinished = Some((usage, price));
    }

    fn heard(&mut self, event: ModelEvent) -> Input {
        match &event {
            ModelEvent::Text(words) => self.feed.tell(Progress::Text(words.clone())),
            ModelEvent::Stopped(_) => {
                if let Some(call) = self.call.take() {
                    let price = call.price(self.prepared.facts());
                    self.cost = self.cost + price;
                    let at = (self.shared.now(), call.since.elapsed());
                    let estimated = self.learn_from(&call);
                    self.log.answered(
                        &self.prepared.model,
                        (call.usage.unwrap_or_default(), estimated),
                        price,
                        at,
                    );
                    if let Some(problem) = call.problem() {
                        self.log.answer_truncated(&self.prepared.model, problem, at.0);
                    }
                    self.watch_cache(&call);
                    self.pay(price);
                }
            }
            ModelEvent::Block(_) | ModelEvent::Usage(_) | ModelEvent::Note(_) => {}
        }
        Input::Model(event)
    }

    /// Has somebody look why the cache was not read, if it was not.
    fn watch_cache(&self, call: &Call) {
        let answered = Answered::new(call, &self.prepared, self.log.names().clone());
        self.shared.cache_watch.look_at(answered, &self.shared);
    }

    /// Compares what the provider counted with what was estimated. `None` if there is nothing to compare.
    fn learn_from(&self, call: &Call) -> Option<u64> {
        let (facts, usage) = (self.prepared.facts()?, call.usage?);
        let estimated = calibrations::estimate(facts, &call.request)?;
        self.shared.calibrations.learn(facts, estimated, usage);
        Some(estimated)
    }

    fn tool_ended(&mut self, output: ToolOutput) -> Input {
        let Some(running) = self.running.take() else { return Input::Tick };
        let permit = running.permit;
        // Of words from outside the log gets only how it ended, which is the first line.
        let told =
            if output.from_outside { output.text.lines().next().unwrap_or_default() } else { &output.text };
        let failed = output.is_error.then(|| told.to_owned());
        let payload = || {
            json!({
                "tool": permit.tool(), "call": permit.call().as_str(), "arguments": permit.arguments(),
                "isError": output.is_error, "output": output.text,
            })
        };
        self.log.payload(TOOL_OUTPUT, payload, self.shared.now());
        let (ended, events) = toolbox::ended(&permit, output, self.shared.surroundings.random());
        self.log.tool_ended(&permit, failed.as_deref(), (self.shared.now(), running.since.elapsed()));
        events.into_iter().for_each(|event| self.log.note(event));
        self.feed.tell(Progress::ToolResult {
            call: ended.call.clone(),
            tool: permit.tool().to_owned(),
            content: ended.content.clone(),
            is_error: ended.is_error,
        });
        Input::ToolEnded(ended)
    }

    /// What has to be recorded once the turn has taken in what happened.
    pub(super) async fn after(&mut self, happened: Happened, step: &Step) -> Result<(), AgentError> {
        let now = self.shared.now();
        match happened {
            Happened::Failed(error) => {
                let waiting = match step {
                    Step::Wait(Wait::Until(waiting)) => Some(waiting),
                    _ => None,
                };
                let paid = self.unfinished.take();
                let called = (&self.prepared.model, self.attempt);
                self.log.call_failed(&error, called, (waiting, paid), now);
                if let Some((_, price)) = paid {
                    self.pay(price);
                }
            }
            Happened::ToolEnded(result) => {
                // What is saved knows of the result: a turn that is resumed does not run the tool again.
                let saved = Some(self.saved());
                self.journal.record(Recorded::ToolFinished(result), saved, now).await?;
                self.start_tool().await?;
            }
            Happened::Other => {}
        }
        for refusal in self.turn.take_refusals() {
            self.log.tool_blocked(&refusal, now);
            let Refusal { call, tool, reason } = refusal;
            // A name that is no tool's may be anything.
            let tool = single_line(&tool, SHOWN_NAME);
            self.feed.tell(Progress::ToolResult { call, tool, content: reason, is_error: true });
        }
        Ok(())
    }

    /// Makes the history shorter, for the model can't read it all.
    pub(super) async fn compact(&mut self, mailbox: &mut Mailbox) -> Input {
        self.feed
            .tell(Progress::Status("The conversation is too long for the model. Summarising...".to_owned()));
        let hold = self.journal.hold();
        let shorten = compaction::shorten(&self.shared, &self.placed, &self.prepared, hold);
        let shortened = tokio::select! {
            biased;
            () = mailbox.called_off() => return self.stop(),
            shortened = compaction::holding(&self.shared, hold, shorten) => shortened,
        };
        let prepared = match shortened {
            Ok(shortened) => {
                self.cost = self.cost + shortened.cost;
                self.feed.tell(Progress::Compacted);
                let prepared = prepare(&self.shared, &self.placed, Some(&self.drafts.turn), None).await;
                prepared.map(|prepared| (prepared, shortened.usage))
            }
            Err(error) => Err(error),
        };
        match prepared {
            Ok((prepared, usage)) => {
                self.prepared = prepared;
                self.prepared.narrow(&mut self.turn);
                self.prepared.tell_again(&mut self.drafts);
                self.log.prompt_built(&self.prepared, self.shared.now());
                Input::Compacted(Ok(usage))
            }
            Err(error) => Input::Compacted(Err(error.cause().for_record().clone())),
        }
    }
}
