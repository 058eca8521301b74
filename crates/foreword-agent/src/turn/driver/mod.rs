//! Drives a turn: performs the I/O that the sans-IO state machine [`Turn`] requests, and feeds the results back to it.

pub(crate) mod finish;
mod inputs;
mod spend;
mod start;

use std::collections::VecDeque;
use std::sync::Arc;

use foreword_core::id::MessageId;
use foreword_core::message::Usage;
use foreword_core::money::{Money, Price};
use foreword_core::turn::{CallModel, Input, Permit, Step, Turn, Wait};
use foreword_core::turn_journal::JournalStep as Recorded;
use foreword_store::turns::{StartedTurn, TakenOver};
use foreword_workspace::speaker::Speaker;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::inputs::InputRecord;
use self::start::{Start, accepted, drafts, ids, log};
use crate::conversation::feed::{Feed, Progress};
use crate::conversation::inbound::TurnOrigin;
use crate::conversation::mailbox::Mailbox;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::tool::{ToolCall, ToolOutput};
use crate::turn::cache_diagnosis_worker;
use crate::turn::drafts::Drafts;
use crate::turn::journal::JournalWriter;
use crate::turn::model_call::{self, Call};
use crate::turn::payload_log::API_RESPONSE;
use crate::turn::prepare::{Prepared, prepare};
use crate::turn::read_ahead::ReadAhead;
use crate::turn::saved_state::Saved;
use crate::turn::scope::TurnScope;
use crate::turn::tool_run::Running;
use crate::turn::turn_log::TurnLog;

/// A running turn.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    scope: TurnScope,
    prepared: Prepared,
    turn: Turn,
    drafts: Drafts,
    journal: JournalWriter,
    log: TurnLog,
    feed: Feed,
    began: Instant,
    cost: Price,
    /// The number of the turn's messages that are in the journal.
    recorded: usize,
    /// The number of the current attempt of the model call.
    attempt: u32,
    call: Option<Call>,
    /// The tool calls that are queued, and the one that runs.
    queue: VecDeque<Permit>,
    running: Option<Running>,
    /// The time of the next lease renewal.
    renew_at: Instant,
    /// The usage and cost of an aborted call, until they are logged.
    unfinished: Option<(Usage, Price)>,
    /// The start of the turn, until it is recorded.
    unrecorded_start: Option<Start>,
}

impl Driver {
    /// Begins a turn. `None` if it has already failed because its prompt could not be built.
    pub(crate) async fn begin(
        shared: &Arc<Shared>,
        begun: StartedTurn,
        scope: TurnScope,
        ahead: ReadAhead,
        feed: &Feed,
    ) -> Result<Option<Self>, AgentError> {
        let id = begun.hold.turn.clone();
        let inputs = ahead.followed_by(&begun).await;
        let prepared = match prepare(shared, &scope, Some(&id), inputs).await {
            Ok(prepared) => prepared,
            Err(error) => {
                return finish::fail_start(shared, &scope, &begun, feed, error).await.map(|()| None);
            }
        };
        let random = || shared.clock_and_rng.random();
        let sent = prepared.sent(&begun.messages, scope.origin.situation(), random);
        let drafts = drafts(&scope, &begun, &prepared, sent);
        let obligations = scope.obligations(shared).await?;
        let turn = Turn::new(prepared.rules.clone(), shared.now()).with_obligations(obligations);
        let journal = JournalWriter::new(shared.store.clone(), begun.hold.clone(), begun.next_step);
        let messages = ids(&begun.messages);
        let log = log(shared, &scope, &prepared, &drafts, messages);
        let mut driver = Self::new(shared, TurnParts { scope, prepared, log, turn, drafts, journal }, feed);
        driver.publish_started(ids(&begun.messages), false);
        driver.unrecorded_start = Some(Start::new(driver.saved()));
        Ok(Some(driver))
    }

    /// Resumes an interrupted turn from its saved state.
    pub(crate) async fn resume(
        shared: &Arc<Shared>,
        taken: TakenOver,
        scope: TurnScope,
        saved: Saved,
        feed: &Feed,
    ) -> Result<Option<Self>, AgentError> {
        let id = taken.turn.id.clone();
        let next_step = taken.journal.next_number();
        // The settings are read again.
        let begun = StartedTurn { hold: taken.hold, messages: Vec::new(), next_step, settings_version: 0 };
        let mut prepared = match prepare(shared, &scope, Some(&id), None).await {
            Ok(prepared) => prepared,
            Err(error) => {
                return finish::fail_start(shared, &scope, &begun, feed, error).await.map(|()| None);
            }
        };
        let mut drafts = drafts(&scope, &begun, &prepared, saved.sent);
        drafts.has_context = saved.has_context;
        drafts.provenance = saved.provenance;
        drafts.author = saved.author;
        let journal = JournalWriter::new(shared.store.clone(), begun.hold, begun.next_step);
        let mut turn = saved.turn;
        turn.extend_deadline(shared.now().since(saved.at));
        prepared.narrow(&mut turn);
        let messages = accepted(&taken.journal);
        let log = log(shared, &scope, &prepared, &drafts, messages.clone());
        let mut driver = Self::new(shared, TurnParts { scope, prepared, log, turn, drafts, journal }, feed);
        driver.recorded = driver.turn.messages().len();
        driver.publish_started(messages, true);
        driver.feed.publish(Progress::Status("The turn resumes after an interruption.".to_owned()));
        driver.unrecorded_start = Some(Start::resumed(shared.now()));
        Ok(Some(driver))
    }

    fn new(shared: &Arc<Shared>, parts: TurnParts, feed: &Feed) -> Self {
        let TurnParts { scope, prepared, log, turn, drafts, journal } = parts;
        Self {
            shared: Arc::clone(shared),
            scope,
            prepared,
            turn,
            drafts,
            journal,
            log,
            feed: feed.clone(),
            began: Instant::now(),
            cost: Price::Known(Money::ZERO),
            recorded: 0,
            attempt: 0,
            call: None,
            queue: VecDeque::new(),
            running: None,
            renew_at: Instant::now() + shared.lease / 3,
            unfinished: None,
            unrecorded_start: None,
        }
    }

    /// Runs the turn to its end. If it can't continue in this process, leaves it for another one to take over.
    pub(crate) async fn run(mut self, mailbox: &mut Mailbox) {
        let (recorder, names) = (self.shared.recorder.clone(), self.log.names().clone());
        if let Err(error) = recorder.in_turn(&names, self.drive(mailbox)).await {
            finish::leave(&self.shared, &self.scope, self.journal.hold(), &self.feed, error).await;
        }
    }

    async fn drive(&mut self, mailbox: &mut Mailbox) -> Result<(), AgentError> {
        let now = self.shared.now();
        let mut step = self.turn.step(now, Input::Resumed);
        self.after(InputRecord::None, &step).await?;
        loop {
            let input = match self.perform(step, mailbox).await? {
                Next::Wait(wait) => self.next_input(&wait, mailbox).await?,
                Next::Input(input) => input,
                Next::Done => return Ok(()),
            };
            let record = InputRecord::of(&input);
            step = self.turn.step(self.shared.now(), input);
            self.after(record, &step).await?;
        }
    }

    async fn perform(&mut self, step: Step, mailbox: &mut Mailbox) -> Result<Next, AgentError> {
        if !matches!(step, Step::CallModel(_)) {
            self.record_start().await?;
        }
        match step {
            Step::CallModel(call) => self.call_model(call).await,
            Step::RunTools(permits) => {
                self.record_answers().await?;
                self.queue = permits.into();
                self.start_tool().await?;
                Ok(Next::Wait(Wait::ForTools))
            }
            Step::AskOwner(question) => {
                self.record_answers().await?;
                self.feed.publish(Progress::Question(question));
                Ok(Next::Wait(self.turn.waits_for()))
            }
            Step::Compact => Ok(Next::Input(self.compact(mailbox).await)),
            Step::Wait(wait) => {
                if let Wait::Until(waiting) = &wait {
                    self.feed.publish(Progress::Status(waiting.status.clone()));
                    self.save().await?;
                }
                Ok(Next::Wait(wait))
            }
            Step::Done(ending) => {
                self.finish(ending).await?;
                Ok(Next::Done)
            }
        }
    }

    async fn call_model(&mut self, call: CallModel) -> Result<Next, AgentError> {
        self.record_answers().await?;
        self.attempt = call.attempt;
        let mut messages = self.prepared.before.clone();
        messages.extend(self.drafts.request(self.turn.messages(), self.shared.now())?);
        let mut request = model_call::request(&self.prepared, messages);
        if let Some(failure) = self.check_budget(&request).await? {
            self.record_start().await?;
            return Ok(Next::Input(Input::OverBudget(failure)));
        }
        if self.prepared.wants_cache_diagnostics() {
            request.cache.diagnostics =
                cache_diagnosis_worker::diagnostics(&self.shared.store, &self.scope.conversation).await;
        }
        match Call::start(&self.shared, &self.prepared, request) {
            Ok(mut call) => {
                call.send_off().await;
                self.call = Some(call);
                self.record_start().await?;
                Ok(Next::Wait(Wait::ForModel))
            }
            Err(error) => {
                self.record_start().await?;
                let chance = self.shared.clock_and_rng.chance();
                Ok(Next::Input(Input::ModelFailed { error, chance }))
            }
        }
    }

    /// Starts the next tool after its start is recorded in the journal.
    async fn start_tool(&mut self) -> Result<(), AgentError> {
        let Some(permit) = self.queue.pop_front() else { return Ok(()) };
        let (call, name) = (permit.call().clone(), permit.tool().to_owned());
        let started = Recorded::ToolStarted {
            call: call.clone(),
            tool: name.clone(),
            side_effects: permit.has_side_effects(),
        };
        let now = self.shared.now();
        self.journal.record(started, None, now).await?;
        let arguments = Value::Object(permit.arguments().clone());
        self.feed.publish(Progress::ToolCall { call, tool: name, arguments });
        let future = match self.shared.find_tool(permit.tool()).await {
            Some(tool) => tool.run(permit.arguments().clone(), self.tool_call(&permit)),
            // The permit is from another process before a crash, or the tool was removed during the turn.
            None => Box::pin(std::future::ready(ToolOutput::failed("not run: this tool is gone"))),
        };
        self.running = Some(Running::new(permit, future));
        Ok(())
    }

    fn tool_call(&self, permit: &Permit) -> ToolCall {
        let occasion = &self.prepared.built.occasion;
        ToolCall {
            id: permit.call().clone(),
            conversation: self.scope.conversation.clone(),
            turn: self.drafts.turn.clone(),
            trust: self.drafts.trust,
            user: occasion.user.clone(),
            agent: Arc::clone(&occasion.agent),
            tainted: self.turn.taint().is_tainted(),
            confirmed: permit.is_confirmed(),
            provenance: self.drafts.provenance,
            origin: self.origin(),
            host: self.shared.host.clone(),
            snapshot: Arc::clone(&self.prepared.snapshot),
            workspace: Arc::clone(&self.shared.workspace),
            store: self.shared.store.clone(),
            now: self.shared.now(),
            random: self.shared.clock_and_rng.random(),
        }
    }

    /// The origin for turns that this turn starts: with the agent that runs this turn.
    fn origin(&self) -> TurnOrigin {
        let has_several = self.prepared.snapshot.config.roster.has_several();
        let own = has_several.then(|| Arc::clone(&self.prepared.built.occasion.agent));
        let origin = self.scope.origin.clone();
        TurnOrigin {
            speaker: Speaker { agent: own.or(origin.speaker.agent.clone()), ..origin.speaker.clone() },
            ..origin
        }
    }

    /// Records complete answers in the journal before the turn acts on them.
    async fn record_answers(&mut self) -> Result<(), AgentError> {
        let new: Vec<_> = self.turn.messages()[self.recorded.min(self.turn.messages().len())..].to_vec();
        self.recorded = self.turn.messages().len();
        let answers =
            new.into_iter().filter(|message| message.role == foreword_core::message::Role::Assistant);
        for answer in answers {
            let (model, content) = (self.prepared.model.to_string(), answer.content);
            let payload = || json!({ "model": model, "content": content });
            self.log.payload(API_RESPONSE, payload, self.shared.now());
            let step = Recorded::Call { model, content, usage: answer.usage.unwrap_or_default() };
            let (saved, now) = (Some(self.saved()), self.shared.now());
            self.journal.record(step, saved, now).await?;
        }
        Ok(())
    }

    async fn save(&mut self) -> Result<(), AgentError> {
        self.journal.flush().await?;
        if let Some(saved) = self.saved().to_json() {
            self.shared.store.save_turn(self.journal.hold(), saved, self.shared.now()).await?;
        }
        Ok(())
    }

    fn saved(&self) -> Saved {
        Saved {
            turn: self.turn.clone(),
            sent: self.drafts.sent.clone(),
            has_context: self.drafts.has_context,
            provenance: self.drafts.provenance,
            author: self.drafts.author.clone(),
            origin: (&self.scope.origin).into(),
            at: self.shared.now(),
        }
    }

    fn publish_started(&self, messages: Vec<MessageId>, resumed: bool) {
        self.feed.publish(Progress::TurnStarted {
            turn: self.drafts.turn.clone(),
            messages,
            user: self.prepared.built.occasion.user.clone(),
            trust: self.drafts.trust,
            resumed,
        });
    }
}

/// The parts of a turn that [`Driver::begin`] and [`Driver::resume`] create.
struct TurnParts {
    scope: TurnScope,
    prepared: Prepared,
    log: TurnLog,
    turn: Turn,
    drafts: Drafts,
    journal: JournalWriter,
}

/// The next action after a step.
enum Next {
    /// Wait for an input.
    Wait(Wait),
    /// The input is already known.
    Input(Input),
    /// The turn has ended.
    Done,
}
