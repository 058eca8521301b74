//! Waits for the answer to a message, on whichever node the turn runs. The only such wait: requests, chat, schedules,
//! workflows, the inbox and the metering of turns use it.

use std::time::Duration;

use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_store::error::StoreError;
use foreword_store::turns::Answer;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::agent::{Agent, Receipt};
use crate::conversation::feed::{Feed, Progress};
use crate::conversation::inbound::Inbound;
use crate::error::AgentError;

/// How often to ask the store for a turn that does not run in this process.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// As above, for a turn of this process, which reports its end.
const LOCAL_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The end of a turn is stored shortly before it is reported.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);
/// The shortest interval between two attempts to resume a turn.
const MIN_RECOVERY_INTERVAL: Duration = Duration::from_millis(100);

/// A message whose answer is awaited.
#[derive(Debug, Clone)]
pub struct PendingMessage {
    pub id: MessageId,
    pub conversation: ConversationId,
    /// Whether it was accepted by an earlier request, and may be answered already.
    pub before: bool,
    /// The progress feed of the conversation.
    pub feed: Feed,
    /// The position in the feed before the message.
    pub from: u64,
}

impl From<&Receipt> for PendingMessage {
    fn from(receipt: &Receipt) -> Self {
        let Receipt { message, before, feed, from } = receipt;
        let (id, conversation) = (message.message.id.clone(), message.message.conversation.clone());
        Self { id, conversation, before: *before, feed: feed.clone(), from: *from }
    }
}

/// What ends a wait besides the end of the turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct WaitLimits {
    /// When to return [`WaitOutcome::TimedOut`].
    pub deadline: Option<Instant>,
    /// Whether to return [`WaitOutcome::WaitingForApproval`].
    pub approval: bool,
    /// Whether to return [`WaitOutcome::Moved`].
    pub moved: bool,
}

/// How a wait for an answer ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WaitOutcome {
    /// The turn succeeded.
    Answered(EndedTurn),
    /// The turn failed, or was interrupted and is not repeated.
    Failed(EndedTurn),
    /// A user stopped the turn.
    Cancelled(EndedTurn),
    /// The turn, or the one that the message is queued behind, waits for the owner's approval.
    WaitingForApproval {
        /// The turn that answers the message, if it has started.
        turn: Option<TurnId>,
        question: OpenQuestion,
    },
    /// The turn can't continue in this process. This or another node resumes it.
    Moved,
    /// The deadline has passed.
    TimedOut,
}

/// An ended turn.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedTurn {
    /// The turn and its final text.
    pub answer: Answer,
    /// Whether the feed has reported the end: the turn ran in this process.
    pub is_reported: bool,
    /// The reported usage.
    pub usage: Option<TurnUsage>,
}

/// The usage of a turn, as reported at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnUsage {
    /// The usage of its model calls.
    pub usage: Usage,
    /// The cost of that usage.
    pub cost: Price,
    /// Whether it includes all calls. A resumed turn only reports the calls since.
    pub is_complete: bool,
}

/// An approval question that the owner has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    pub id: String,
    /// The turn that waits for the answer.
    pub turn: TurnId,
}

impl Agent {
    /// Sends a message and waits for the answer.
    ///
    /// # Errors
    /// As [`Agent::send`], or if the store can't be read.
    pub async fn ask(&self, inbound: Inbound) -> Result<Answer, AgentError> {
        let receipt = self.send(inbound).await?;
        self.answer_to(&receipt).await
    }

    /// Waits for the end of the turn that answers a message. Resumes it here if its node dies.
    pub async fn answer_to(&self, message: impl Into<PendingMessage>) -> Result<Answer, AgentError> {
        let message = message.into();
        let interval = (self.shared().lease / 2).max(MIN_RECOVERY_INTERVAL);
        if message.before {
            self.recover_conversation(&message.conversation).await?;
        }
        loop {
            let limits = WaitLimits { deadline: Some(Instant::now() + interval), ..WaitLimits::default() };
            match self.wait_for_answer(&message, limits).await? {
                WaitOutcome::Answered(ended) | WaitOutcome::Failed(ended) | WaitOutcome::Cancelled(ended) => {
                    return Ok(ended.answer);
                }
                WaitOutcome::WaitingForApproval { .. } | WaitOutcome::Moved | WaitOutcome::TimedOut => {
                    self.recover_conversation(&message.conversation).await?;
                }
            }
        }
    }

    /// As [`Agent::wait_for_answer`], but retries while the store can't be read.
    pub async fn wait_through_outages(&self, message: &PendingMessage, limits: WaitLimits) -> WaitOutcome {
        loop {
            match self.wait_for_answer(message, limits).await {
                Ok(outcome) => return outcome,
                Err(_) => sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// Waits for the end of the turn that answers a message, within `limits`.
    pub async fn wait_for_answer(
        &self,
        message: &PendingMessage,
        limits: WaitLimits,
    ) -> Result<WaitOutcome, StoreError> {
        let shared = self.shared();
        let mut reports = Reports::new(message);
        loop {
            let answer = shared.store.answer_to(&message.id).await?;
            let is_here = answer.as_ref().is_some_and(|answer| answer.turn.holder == shared.node);
            let answer = match answer {
                Some(answer) if answer.turn.state != TurnState::Running => {
                    if is_here && !message.before {
                        reports.wait_for_end(&answer.turn.id, limits.deadline).await;
                    }
                    return Ok(reports.outcome(answer));
                }
                answer => answer,
            };
            if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(WaitOutcome::TimedOut);
            }
            let turn = answer.map(|answer| answer.turn.id);
            if limits.moved && turn.is_some() && reports.left == turn {
                return Ok(WaitOutcome::Moved);
            }
            if limits.approval
                && (!is_here || message.feed.open_question().is_some())
                && let Some(question) = self.open_question(&message.conversation).await?
            {
                return Ok(WaitOutcome::WaitingForApproval { turn, question });
            }
            reports.wait_for_change(limits).await;
        }
    }

    /// The question that the running turn of a conversation waits for, on any node.
    pub async fn open_question(
        &self,
        conversation: &ConversationId,
    ) -> Result<Option<OpenQuestion>, StoreError> {
        let shared = self.shared();
        let newest = shared.store.turns(conversation, None, 1).await?.into_iter().next();
        let Some(turn) = newest.filter(|turn| turn.state == TurnState::Running) else { return Ok(None) };
        let id = if turn.holder == shared.node {
            self.feed(conversation).open_question().map(|question| question.call.to_string())
        } else if let Some(observer) = shared.observer.get() {
            observer.remote_question(conversation, &turn.id).await?
        } else {
            None
        };
        Ok(id.map(|id| OpenQuestion { id, turn: turn.id }))
    }
}

/// The reports of a feed, as far as they concern a message.
struct Reports<'a> {
    message: &'a PendingMessage,
    from: u64,
    /// The turn of this process that answers the message, and whether it was resumed.
    running: Option<(TurnId, bool)>,
    /// The turns that have ended in this process.
    ended: Vec<(TurnId, Option<TurnUsage>)>,
    /// The last turn that could not continue in this process.
    left: Option<TurnId>,
}

impl<'a> Reports<'a> {
    fn new(message: &'a PendingMessage) -> Self {
        Self { message, from: message.from, running: None, ended: Vec::new(), left: None }
    }

    /// Reads the next reports. Returns whether one of them may end the wait.
    async fn read(&mut self) -> bool {
        let batch = self.message.feed.read(self.from).await;
        self.from = batch.next;
        // A missed report may be the end of the turn.
        let mut is_relevant = batch.missed > 0;
        if is_relevant {
            self.running = None;
        }
        for progress in &batch.items {
            match &**progress {
                Progress::TurnStarted { turn, messages, resumed, .. } => {
                    if messages.contains(&self.message.id) {
                        self.running = Some((turn.clone(), *resumed));
                    }
                    continue;
                }
                Progress::TurnEnded { turn, usage, cost, .. } => {
                    let (usage, cost) = (*usage, *cost);
                    let is_complete = self.running.as_ref() == Some(&(turn.clone(), false));
                    self.ended.push((turn.clone(), Some(TurnUsage { usage, cost, is_complete })));
                }
                Progress::TurnInterrupted { turn, .. } => self.ended.push((turn.clone(), None)),
                Progress::TurnLeft { turn, .. } => {
                    self.running.take_if(|(running, _)| running == turn);
                    self.left = Some(turn.clone());
                }
                Progress::Question(_) => {}
                _ => continue,
            }
            is_relevant = true;
        }
        is_relevant
    }

    /// Waits for a report that may end the wait, at most until the store is to be asked again.
    async fn wait_for_change(&mut self, limits: WaitLimits) {
        let mut until = Instant::now() + LOCAL_POLL_INTERVAL;
        loop {
            // The turn may start here or leave while this waits.
            if self.running.is_none() {
                until = until.min(Instant::now() + POLL_INTERVAL);
            }
            let until = limits.deadline.map_or(until, |deadline| until.min(deadline));
            match timeout_at(until, self.read()).await {
                Ok(false) => {}
                Ok(true) | Err(_) => return,
            }
        }
    }

    /// Waits for the report of the end of `turn`, which is stored already.
    async fn wait_for_end(&mut self, turn: &TurnId, deadline: Option<Instant>) {
        let reported = async {
            while !self.ended.iter().any(|(ended, _)| ended == turn) {
                self.read().await;
            }
        };
        let timeout_or_deadline = timeout(REPORT_TIMEOUT, reported);
        // On timeout, the answer is returned without its usage.
        match deadline {
            Some(deadline) => drop(timeout_at(deadline, timeout_or_deadline).await),
            None => drop(timeout_or_deadline.await),
        }
    }

    fn outcome(self, answer: Answer) -> WaitOutcome {
        let report = self.ended.into_iter().find(|(turn, _)| *turn == answer.turn.id);
        let (state, is_reported) = (answer.turn.state, report.is_some());
        let ended = EndedTurn { answer, is_reported, usage: report.and_then(|(_, usage)| usage) };
        match state {
            TurnState::Ended(Outcome::Done) => WaitOutcome::Answered(ended),
            TurnState::Ended(Outcome::Cancelled) => WaitOutcome::Cancelled(ended),
            _ => WaitOutcome::Failed(ended),
        }
    }
}
