//! Drives a turn: does what it asks for, and tells it what came of it. Decides nothing itself.

mod beginning;
pub(crate) mod ending;
mod inputs;
mod spending;

use std::collections::VecDeque;
use std::sync::Arc;

use foreword_core::id::MessageId;
use foreword_core::message::{Message, Provenance, Usage};
use foreword_core::money::{Money, Price};
use foreword_core::turn::{CallModel, Input, Permit, Step, Turn, Wait};
use foreword_core::turn_journal::{Journal, Step as Recorded};
use foreword_store::turns::{Begun, TakenOver};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::beginning::Beginning;
use self::inputs::Happened;
use crate::cache_watch;
use crate::calling::{self, Call};
use crate::conversation::Mailbox;
use crate::drafts::Drafts;
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::inbound::Occasion;
use crate::inbox;
use crate::journal::JournalWriter;
use crate::payload_log::API_RESPONSE;
use crate::prepare::{Placed, Prepared, prepare};
use crate::read_ahead::ReadAhead;
use crate::saved::Saved;
use crate::shared::Shared;
use crate::tool::{ToolCall, ToolOutput};
use crate::toolbox::Running;
use crate::turn_log::TurnLog;

/// A turn at work.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    placed: Placed,
    prepared: Prepared,
    turn: Turn,
    drafts: Drafts,
    journal: JournalWriter,
    log: TurnLog,
    feed: Feed,
    began: Instant,
    cost: Price,
    /// How many of what the turn has said is in the journal.
    recorded: usize,
    /// Which try of the answer is under way.
    attempt: u32,
    call: Option<Call>,
    /// Tools that are still to be run, and the one at work.
    queue: VecDeque<Permit>,
    running: Option<Running>,
    /// When to say next that this node lives.
    renew_at: Instant,
    /// What a call that broke off has taken, until it is in the log.
    unfinished: Option<(Usage, Price)>,
    /// What is still to be put on record of the beginning.
    unnoted: Option<Beginning>,
}

impl Driver {
    /// A turn that has just begun. `None` if it has ended already, because its prompt could not be made.
    pub(crate) async fn begin(
        shared: &Arc<Shared>,
        begun: Begun,
        (placed, ahead): (Placed, ReadAhead),
        feed: &Feed,
    ) -> Result<Option<Self>, AgentError> {
        let id = begun.hold.turn.clone();
        let opening = ahead.followed_by(&begun).await;
        let prepared = match prepare(shared, &placed, Some(&id), opening).await {
            Ok(prepared) => prepared,
            Err(error) => {
                return ending::never_began(shared, &placed, &begun, (feed, error)).await.map(|()| None);
            }
        };
        let random = || shared.surroundings.random();
        let sent = prepared.sent(&begun.messages, placed.occasion.situation(), random);
        let drafts = drafts(&placed, &begun, &prepared, sent);
        let obligations = inbox::obligations(shared, &placed).await?;
        let turn = Turn::new(prepared.rules.clone(), shared.now()).with_obligations(obligations);
        let journal = JournalWriter::new(shared.store.clone(), begun.hold.clone(), begun.next_step);
        let messages = ids(&begun.messages);
        let log = log(shared, (&placed, &prepared), (&drafts, messages));
        let mut driver = Self::new(shared, (placed, prepared, log), (turn, drafts, journal), feed);
        driver.tell_started(ids(&begun.messages), false);
        driver.unnoted = Some(Beginning::anew(driver.saved()));
        Ok(Some(driver))
    }

    /// A turn that was cut off, from where it was saved.
    pub(crate) async fn resume(
        shared: &Arc<Shared>,
        (taken, placed): (TakenOver, Placed),
        saved: Saved,
        feed: &Feed,
    ) -> Result<Option<Self>, AgentError> {
        let id = taken.turn.id.clone();
        let next_step = taken.journal.next_number();
        // The settings are read again with everything else.
        let begun = Begun { hold: taken.hold, messages: Vec::new(), next_step, settings_version: 0 };
        let mut prepared = match prepare(shared, &placed, Some(&id), None).await {
            Ok(prepared) => prepared,
            Err(error) => {
                return ending::never_began(shared, &placed, &begun, (feed, error)).await.map(|()| None);
            }
        };
        let mut drafts = drafts(&placed, &begun, &prepared, saved.sent);
        drafts.has_context = saved.has_context;
        drafts.provenance = saved.provenance;
        drafts.author = saved.author;
        let journal = JournalWriter::new(shared.store.clone(), begun.hold, begun.next_step);
        let mut turn = saved.turn;
        turn.was_away(shared.now().since(saved.at));
        prepared.narrow(&mut turn);
        let messages = accepted(&taken.journal);
        let log = log(shared, (&placed, &prepared), (&drafts, messages.clone()));
        let mut driver = Self::new(shared, (placed, prepared, log), (turn, drafts, journal), feed);
        driver.recorded = driver.turn.said().len();
        driver.tell_started(messages, true);
        driver.feed.tell(Progress::Status("The turn goes on after an interruption.".to_owned()));
        driver.unnoted = Some(Beginning::again(shared.now()));
        Ok(Some(driver))
    }

    fn new(
        shared: &Arc<Shared>,
        (placed, prepared, log): (Placed, Prepared, TurnLog),
        (turn, drafts, journal): (Turn, Drafts, JournalWriter),
        feed: &Feed,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            placed,
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
            unnoted: None,
        }
    }

    /// Runs the turn to its end. If it can't go on here, it is left to whoever takes it over.
    pub(crate) async fn run(mut self, mailbox: &mut Mailbox) {
        let (recorder, names) = (self.shared.recorder.clone(), self.log.names().clone());
        if let Err(error) = recorder.in_turn(&names, self.drive(mailbox)).await {
            ending::leave(&self.shared, &self.placed, self.journal.hold(), &self.feed, error).await;
        }
    }

    async fn drive(&mut self, mailbox: &mut Mailbox) -> Result<(), AgentError> {
        let now = self.shared.now();
        let mut step = self.turn.step(now, Input::Resumed);
        self.after(Happened::Other, &step).await?;
        loop {
            let input = match self.perform(step, mailbox).await? {
                Next::Waits(wait) => self.next_input(&wait, mailbox).await?,
                Next::Known(input) => input,
                Next::Over => return Ok(()),
            };
            let happened = Happened::of(&input);
            step = self.turn.step(self.shared.now(), input);
            self.after(happened, &step).await?;
        }
    }

    async fn perform(&mut self, step: Step, mailbox: &mut Mailbox) -> Result<Next, AgentError> {
        if !matches!(step, Step::CallModel(_)) {
            self.note_beginning().await?;
        }
        match step {
            Step::CallModel(call) => self.call_model(call).await,
            Step::RunTools(permits) => {
                self.record_answers().await?;
                self.queue = permits.into();
                self.start_tool().await?;
                Ok(Next::Waits(Wait::ForTools))
            }
            Step::AskOwner(question) => {
                self.record_answers().await?;
                self.feed.tell(Progress::Question(question));
                Ok(Next::Waits(self.turn.waits_for()))
            }
            Step::Compact => Ok(Next::Known(self.compact(mailbox).await)),
            Step::Wait(wait) => {
                if let Wait::Until(waiting) = &wait {
                    self.feed.tell(Progress::Status(waiting.status.clone()));
                    self.save().await?;
                }
                Ok(Next::Waits(wait))
            }
            Step::Done(ending) => {
                self.finish(ending).await?;
                Ok(Next::Over)
            }
        }
    }

    async fn call_model(&mut self, call: CallModel) -> Result<Next, AgentError> {
        self.record_answers().await?;
        self.attempt = call.attempt;
        let mut messages = self.prepared.before.clone();
        messages.extend(self.drafts.request(self.turn.said(), self.shared.now())?);
        let mut request = calling::request(&self.prepared, messages);
        if let Some(why) = self.over_budget(&request).await? {
            self.note_beginning().await?;
            return Ok(Next::Known(Input::OverBudget(why)));
        }
        if self.prepared.asks_why_missed() {
            request.cache.diagnostics =
                cache_watch::question(&self.shared.store, &self.placed.conversation).await;
        }
        match Call::start(&self.shared, &self.prepared, request) {
            Ok(mut call) => {
                call.send_off().await;
                self.call = Some(call);
                self.note_beginning().await?;
                Ok(Next::Waits(Wait::ForModel))
            }
            Err(error) => {
                self.note_beginning().await?;
                let chance = self.shared.surroundings.chance();
                Ok(Next::Known(Input::ModelFailed { error, chance }))
            }
        }
    }

    /// Starts the next tool, once it is on record that it is started.
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
        self.feed.tell(Progress::ToolCall { call, tool: name, arguments });
        let future = match self.shared.tool_at_hand(permit.tool()).await {
            Some(tool) => tool.run(permit.arguments().clone(), self.tool_call(&permit)),
            // It was permitted by another process, before a crash, or has gone since the turn began.
            None => Box::pin(std::future::ready(ToolOutput::failed("not run: this tool is gone"))),
        };
        self.running = Some(Running::new(permit, future));
        Ok(())
    }

    fn tool_call(&self, permit: &Permit) -> ToolCall {
        let occasion = &self.prepared.built.occasion;
        ToolCall {
            id: permit.call().clone(),
            conversation: self.placed.conversation.clone(),
            turn: self.drafts.turn.clone(),
            trust: self.drafts.trust,
            user: occasion.user.clone(),
            agent: Arc::clone(&occasion.agent),
            tainted: self.turn.taint().is_tainted(),
            confirmed: permit.is_confirmed(),
            provenance: self.drafts.provenance,
            occasion: self.occasion(),
            host: self.shared.host.clone(),
            snapshot: Arc::clone(&self.prepared.snapshot),
            workspace: Arc::clone(&self.shared.workspace),
            store: self.shared.store.clone(),
            now: self.shared.now(),
            random: self.shared.surroundings.random(),
        }
    }

    /// The occasion, for whom turns begin that come of this one: with the agent that answers here.
    fn occasion(&self) -> Occasion {
        let has_company = self.prepared.snapshot.config.roster.has_company();
        let own = has_company.then(|| Arc::clone(&self.prepared.built.occasion.agent));
        let occasion = self.placed.occasion.clone();
        Occasion { agent: own.or(occasion.agent), ..occasion }
    }

    /// Puts the answers that are complete into the journal, before anything is done because of them.
    async fn record_answers(&mut self) -> Result<(), AgentError> {
        let new: Vec<_> = self.turn.said()[self.recorded.min(self.turn.said().len())..].to_vec();
        self.recorded = self.turn.said().len();
        let answers = new.into_iter().filter(|said| said.role == foreword_core::message::Role::Assistant);
        for said in answers {
            let (model, content) = (self.prepared.model.to_string(), said.content);
            let payload = || json!({ "model": model, "content": content });
            self.log.payload(API_RESPONSE, payload, self.shared.now());
            let step = Recorded::Call { model, content, usage: said.usage.unwrap_or_default() };
            let (saved, now) = (Some(self.saved()), self.shared.now());
            self.journal.record(step, saved, now).await?;
        }
        Ok(())
    }

    async fn save(&mut self) -> Result<(), AgentError> {
        self.journal.settle().await?;
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
            occasion: (&self.placed.occasion).into(),
            at: self.shared.now(),
        }
    }

    fn tell_started(&self, messages: Vec<MessageId>, resumed: bool) {
        self.feed.tell(Progress::TurnStarted {
            turn: self.drafts.turn.clone(),
            messages,
            user: self.prepared.built.occasion.user.clone(),
            trust: self.drafts.trust,
            resumed,
        });
    }
}

/// What follows when a step is done.
enum Next {
    /// Something has to happen.
    Waits(Wait),
    /// It has happened already.
    Known(Input),
    /// Nothing.
    Over,
}

fn log(
    shared: &Shared,
    (placed, prepared): (&Placed, &Prepared),
    (drafts, messages): (&Drafts, Vec<MessageId>),
) -> TurnLog {
    let names = (drafts.turn.clone(), placed.conversation.clone());
    TurnLog::new(shared.recorder.clone(), names, prepared, messages, shared.surroundings.random())
}

fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.message.id.clone()).collect()
}

/// The messages that a turn took up when it began.
fn accepted(journal: &Journal) -> Vec<MessageId> {
    let messages = journal.steps().iter().filter_map(|step| match step {
        Recorded::Accepted { messages } => Some(messages.clone()),
        _ => None,
    });
    messages.flatten().collect()
}

fn drafts(
    placed: &Placed,
    begun: &Begun,
    prepared: &Prepared,
    sent: Vec<foreword_core::message::ContentBlock>,
) -> Drafts {
    let authors = || begun.messages.iter().map(|message| message.message.author.clone());
    let one =
        authors().next().flatten().filter(|first| authors().all(|author| author.as_ref() == Some(first)));
    let from = |provenance| begun.messages.iter().any(|message| message.message.provenance == provenance);
    let provenance = [Provenance::Outside, Provenance::User].into_iter().find(|worst| from(*worst));
    Drafts {
        conversation: placed.conversation.clone(),
        turn: begun.hold.turn.clone(),
        trust: prepared.trust.effective(),
        sent,
        has_context: prepared.context.is_some(),
        provenance: inbox::provenance_of(&placed.occasion.purpose, provenance.unwrap_or(Provenance::Owner)),
        author: one,
        agent: prepared.built.occasion.agent.to_string(),
    }
}
