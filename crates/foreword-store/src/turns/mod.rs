//! Turns: one at a time per conversation, protected by a lease, and journaled step by step, so that each is resumed
//! or reported after a crash. `foreword_core::turn_journal` decides which can be resumed.
//!
//! [`Store::begin_turn`] takes messages and returns a [`TurnLease`]. All writes of the turn require it and renew the
//! lease. [`Store::finish_turn`] ends the turn. If its node crashes, another node finds the turn with
//! [`Store::unfinished_turns`], claims it with [`Store::take_over`], and resumes it or reports it with
//! [`Store::report_interrupted`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! use std::time::Duration;
//! use foreword_core::timestamp::Timestamp;
//! use foreword_core::turn_journal::{AfterCrash, JournalStep};
//! use foreword_prompt::trust::Trust;
//! use foreword_store::conversations::NewConversation;
//! use foreword_store::location::Location;
//! use foreword_store::store::Store;
//! use foreword_store::turns::{BeginOutcome, BeginTurn, NewStep, TakeMessages, TakeOver};
//!
//! let now: Timestamp = "2026-11-16T08:00:00Z".parse()?;
//! let store = Store::open(&Location::file(folder.path().join("foreword.db")), now).await?;
//! store.create_conversation(NewConversation::new("c-1".parse()?, "assistant", "direct", now)).await?;
//! let (turn, conversation, node) = ("t-1".parse()?, "c-1".parse()?, "node-a".parse()?);
//! let (trust, take, lease) = (Trust::Full, TakeMessages::Nothing, Duration::from_secs(30));
//! let begin = BeginTurn { turn, conversation, node, trust, take, lease, now };
//! let BeginOutcome::Begun(begun) = store.begin_turn(begin).await? else { return Err("busy".into()) };
//! let step = JournalStep::ToolStarted { call: "call-1".parse()?, tool: "send_mail".into(), side_effects: true };
//! store.record_step(&begun.hold, NewStep { number: begun.next_step, step, saved: None, at: now }).await?;
//!
//! // The node crashes here. Another one looks a minute later: the mail may or may not have been sent.
//! let (turn, node, now) = ("t-1".parse()?, "node-b".parse()?, now.plus(Duration::from_secs(60)));
//! let taken = store.take_over(TakeOver { turn, node, lease, attempts_limit: 3, now }).await?;
//! assert!(taken.is_some_and(|taken| matches!(taken.after_crash, AfterCrash::Report(_))));
//! # Ok(()) }
//! ```

mod accept;
mod answer;
mod begin;
mod finish;
mod lease;
mod list;
mod recover;
mod rows;
mod steps;

use std::time::Duration;

use foreword_core::failure::Failure;
use foreword_core::id::{ConversationId, MessageId, NodeId, TurnId};
use foreword_core::message::{Message, NewMessage};
use foreword_core::retry::ErrorCategory;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::{
    AfterCrash, Journal, JournalStep, Outcome, PromptBuilt, ReportReason, TurnState,
};
use foreword_prompt::trust::Trust;
use serde_json::Value;

use crate::error::StoreError;
use crate::messages::AcceptOutcome;
use crate::store::Store;

pub use accept::AcceptAndBegin;
pub use answer::Answer;
pub(crate) use lease::check as check_fence;
pub use list::{ListedTurn, TurnFilter, TurnKey, TurnSums};

/// A stored turn.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTurn {
    pub id: TurnId,
    pub conversation: ConversationId,
    pub state: TurnState,
    /// Its effective trust.
    pub trust: Trust,
    /// The fencing token of its last holder; later turns of the conversation have higher ones.
    pub fence: u64,
    /// The node that ran it last.
    pub holder: NodeId,
    /// How often it was started.
    pub attempts: u32,
    /// The prompt it ran with, once built.
    pub prompt: Option<PromptBuilt>,
    /// Why it failed or was interrupted.
    pub failure: Option<Failure>,
    /// When it was begun.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// Proof of holding a turn's lease, required for all writes. Invalid once another node takes the turn over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLease {
    pub turn: TurnId,
    /// The fencing token: higher than that of all earlier holders of the conversation.
    pub fence: u64,
}

/// A turn to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginTurn {
    /// Its new id.
    pub turn: TurnId,
    pub conversation: ConversationId,
    /// The node that runs it.
    pub node: NodeId,
    /// Its effective trust.
    pub trust: Trust,
    /// The messages it answers.
    pub take: TakeMessages,
    pub lease: Duration,
    /// The current time.
    pub now: Timestamp,
}

/// Which messages a turn takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakeMessages {
    /// All pending ones. Some may be newer than those the turn's trust was computed from: check the result.
    Pending,
    /// These, except those that other turns have taken.
    Messages(Vec<MessageId>),
    /// None: the turn has another cause, such as a schedule.
    Nothing,
}

/// The outcome of beginning a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum BeginOutcome {
    /// The turn has begun.
    Begun(StartedTurn),
    /// Another turn is running.
    Busy {
        /// That turn.
        turn: TurnId,
        holder: NodeId,
    },
    /// Another turn was interrupted by a crash, and must be taken over first.
    Unfinished {
        /// That turn.
        turn: TurnId,
    },
    /// Other turns have taken the messages.
    NothingToTake,
}

/// A turn that has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedTurn {
    /// Required for writes to the turn.
    pub hold: TurnLease,
    /// The messages it answers, in order.
    pub messages: Vec<Message>,
    /// The number of the next step.
    pub next_step: u64,
    /// The version of the conversation's settings when it began.
    pub settings_version: u64,
}

/// A step to record.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// The step number the caller expects.
    pub number: u64,
    pub step: JournalStep,
    /// The serialised state for resuming after this step; `None` keeps the previous one.
    pub saved: Option<Value>,
    /// The current time.
    pub at: Timestamp,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishTurn {
    pub outcome: Outcome,
    /// The messages it adds to the conversation.
    pub reply: Vec<NewMessage>,
    /// The error, if it failed.
    pub failure: Option<Failure>,
    /// The current time.
    pub at: Timestamp,
}

/// A request to take over an interrupted turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeOver {
    pub turn: TurnId,
    /// The node that takes it over.
    pub node: NodeId,
    pub lease: Duration,
    /// How often a turn may be started in total.
    pub attempts_limit: u32,
    /// The current time.
    pub now: Timestamp,
}

/// A turn that was taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenOver {
    /// Required for writes to the turn.
    pub hold: TurnLease,
    pub turn: StoredTurn,
    /// Its steps so far.
    pub journal: Journal,
    /// The last saved state.
    pub saved: Option<Value>,
    /// Whether to resume or report it.
    pub after_crash: AfterCrash,
}

impl Store {
    /// Begins a turn and takes its messages, unless another turn of the conversation is running. Idempotent for the
    /// same id and node.
    ///
    /// # Errors
    /// If there is no such conversation, [`StoreError::UsedBefore`] if the id is another turn's, or if the database
    /// can't be written.
    pub async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, StoreError> {
        self.run(begin::Operation(begin)).await
    }

    /// Accepts a message and begins the turn that answers it. The message stays pending if it was accepted before,
    /// other messages are pending, or another turn is running. Everything is durable when this returns.
    ///
    /// # Errors
    /// As [`Store::accept`] and [`Store::begin_turn`].
    pub async fn accept_and_begin(
        &self,
        both: AcceptAndBegin,
    ) -> Result<(AcceptOutcome, Option<BeginOutcome>), StoreError> {
        self.run(accept::Operation(both)).await
    }

    /// Renews the lease.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the turn over, or if the database can't be written.
    pub async fn renew_lease(&self, hold: &TurnLease, now: Timestamp) -> Result<(), StoreError> {
        self.run(steps::Renew { hold: hold.clone(), now }).await
    }

    /// Releases the turn, so that another node can take it over at once.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the turn over, or if the database can't be written.
    pub async fn release_turn(&self, hold: &TurnLease) -> Result<(), StoreError> {
        self.run(steps::Leave(hold.clone())).await
    }

    /// Records a step, before the next action begins. Idempotent for the same step and number.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the turn over, [`StoreError::Refused`] if another step has
    /// this number or earlier steps are missing, or if the database can't be written.
    pub async fn record_step(&self, hold: &TurnLease, step: NewStep) -> Result<(), StoreError> {
        self.run(steps::Record { hold: hold.clone(), step }).await
    }

    /// Saves the state for resuming, without a step.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the turn over, or if the database can't be written.
    pub async fn save_turn(&self, hold: &TurnLease, saved: Value, now: Timestamp) -> Result<(), StoreError> {
        self.run(steps::Save { hold: hold.clone(), saved, now }).await
    }

    /// Finishes a turn: commits its reply, its last step, its state and the release of the lease together. Returns
    /// the stored reply. Idempotent.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the turn over, [`StoreError::Refused`] if a message
    /// belongs to another conversation, or if the database can't be written.
    pub async fn finish_turn(
        &self,
        hold: &TurnLease,
        finish: FinishTurn,
    ) -> Result<Vec<Message>, StoreError> {
        self.run(finish::Finish { hold: hold.clone(), finish }).await
    }

    /// Running turns whose lease has expired at `now`.
    pub async fn unfinished_turns(&self, now: Timestamp) -> Result<Vec<StoredTurn>, StoreError> {
        self.run(recover::Unfinished { now }).await
    }

    /// Claims an interrupted turn, and decides whether to resume it. `None` if its lease is held or it has ended. Of
    /// several concurrent callers, one gets it.
    ///
    /// # Errors
    /// If there is no such turn, or the database can't be written.
    pub async fn take_over(&self, wish: TakeOver) -> Result<Option<TakenOver>, StoreError> {
        self.run(recover::Claim(wish)).await
    }

    /// Ends a turn that can't be resumed, and adds a notice to the conversation. Returns the stored notice.
    /// Idempotent.
    ///
    /// # Errors
    /// As [`Store::finish_turn`].
    pub async fn report_interrupted(
        &self,
        hold: &TurnLease,
        why: &ReportReason,
        notice: NewMessage,
    ) -> Result<Message, StoreError> {
        self.run(finish::Report { hold: hold.clone(), why: interrupted(why), notice }).await
    }

    /// A turn.
    ///
    /// # Errors
    /// If there is no such turn, or the database can't be read.
    pub async fn turn(&self, id: &TurnId) -> Result<StoredTurn, StoreError> {
        self.run(rows::Get(id.clone())).await
    }

    /// Up to `limit` turns whose ids begin with `beginning`, the newest first. Scans all turns, which is fine for
    /// interactive use.
    pub async fn turns_with_id_prefix(&self, beginning: &str, limit: u32) -> Result<Vec<TurnId>, StoreError> {
        self.run(rows::WithIdPrefix { beginning: beginning.to_owned(), limit }).await
    }

    /// The turn that took a message, and its answer. `None` while the message is pending.
    ///
    /// # Errors
    /// If there is no such message, or the database can't be read.
    pub async fn answer_to(&self, message: &MessageId) -> Result<Option<Answer>, StoreError> {
        self.run(answer::To(message.clone())).await
    }

    /// Up to `limit` turns of a conversation, the newest first, with a fence below `before` if given.
    pub async fn turns(
        &self,
        conversation: &ConversationId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<StoredTurn>, StoreError> {
        self.run(rows::List { conversation: conversation.clone(), before, limit }).await
    }

    /// Up to `limit` turns of all conversations that pass `filter`, the newest first, after `after` if given.
    pub async fn list_turns(
        &self,
        filter: TurnFilter,
        after: Option<TurnKey>,
        limit: u32,
    ) -> Result<Vec<ListedTurn>, StoreError> {
        self.run(list::List { filter, after, limit }).await
    }

    /// Sets the owner of turns that an older node has written during an upgrade. Returns how many.
    pub async fn backfill_turn_owners(&self) -> Result<u64, StoreError> {
        self.run(list::BackfillOwners).await
    }

    /// The journal of a turn, in order.
    ///
    /// # Errors
    /// If there is no such turn, or the database can't be read.
    pub async fn journal(&self, turn: &TurnId) -> Result<Vec<RecordedStep>, StoreError> {
        self.run(rows::Steps(turn.clone())).await
    }
}

/// A recorded step of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// Its number, from 1.
    pub number: u64,
    pub step: JournalStep,
    /// When it was recorded.
    pub at: Timestamp,
}

fn interrupted(why: &ReportReason) -> Failure {
    let failure = Failure::new(ErrorCategory::InternalError, why.to_string());
    failure.with_public("the turn was interrupted and is not run again")
}
