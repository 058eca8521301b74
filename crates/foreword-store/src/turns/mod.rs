//! Turns: one at a time in a conversation, on whichever node, held by a lease; recorded step by step, so that after a
//! crash each is resumed or reported. What may be resumed is decided in `foreword_core::turn_journal`.
//!
//! A turn begins with [`Store::begin_turn`], which takes up messages and gives a [`Hold`]. Everything its holder writes
//! from then on carries that hold and renews the lease. It ends with [`Store::finish_turn`]. If its holder dies, another
//! node finds it among [`Store::unfinished_turns`], claims it with [`Store::take_over`], and goes on, or reports it with
//! [`Store::report_interrupted`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! use std::time::Duration;
//! use foreword_core::timestamp::Timestamp;
//! use foreword_core::turn_journal::{AfterCrash, Step};
//! use foreword_prompt::trust::Trust;
//! use foreword_store::conversations::NewConversation;
//! use foreword_store::location::Location;
//! use foreword_store::store::Store;
//! use foreword_store::turns::{Begin, BeginTurn, NewStep, Take, TakeOver};
//!
//! let now: Timestamp = "2026-11-16T08:00:00Z".parse()?;
//! let store = Store::open(&Location::file(folder.path().join("foreword.db")), now).await?;
//! store.create_conversation(NewConversation::new("c-1".parse()?, "assistant", "direct", now)).await?;
//! let (turn, conversation, node) = ("t-1".parse()?, "c-1".parse()?, "node-a".parse()?);
//! let (trust, take, lease) = (Trust::Full, Take::Nothing, Duration::from_secs(30));
//! let begin = BeginTurn { turn, conversation, node, trust, take, lease, now };
//! let Begin::Begun(begun) = store.begin_turn(begin).await? else { return Err("busy".into()) };
//! let step = Step::ToolStarted { call: "call-1".parse()?, tool: "send_mail".into(), side_effects: true };
//! store.record_step(&begun.hold, NewStep { number: begun.next_step, step, saved: None, at: now }).await?;
//!
//! // Its node dies here, and another looks a minute later: whether the mail was sent nobody can tell.
//! let (turn, node, now) = ("t-1".parse()?, "node-b".parse()?, now.plus(Duration::from_secs(60)));
//! let taken = store.take_over(TakeOver { turn, node, lease, attempts_limit: 3, now }).await?;
//! assert!(taken.is_some_and(|taken| matches!(taken.after_crash, AfterCrash::Report(_))));
//! # Ok(()) }
//! ```

mod accept;
mod answer;
mod begin;
mod finish;
mod hold;
mod listing;
mod recover;
mod rows;
mod steps;

use std::time::Duration;

use foreword_core::failure::Failure;
use foreword_core::id::{ConversationId, MessageId, NodeId, TurnId};
use foreword_core::message::{Message, NewMessage};
use foreword_core::retry::ErrorCategory;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::{AfterCrash, Journal, Outcome, PromptBuilt, Step, TurnState, WhyReported};
use foreword_prompt::trust::Trust;
use serde_json::Value;

use crate::error::StoreError;
use crate::messages::Accepted;
use crate::store::Store;

pub use accept::AcceptAndBegin;
pub use answer::Answer;
pub(crate) use hold::check as check_hold;
pub use listing::{ListedTurn, TurnFilter, TurnKey, TurnSums};

/// A turn as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Where it stands.
    pub state: TurnState,
    /// Its effective trust.
    pub trust: Trust,
    /// The fence of its last holder; later turns of the conversation have higher ones.
    pub fence: u64,
    /// The node that ran it last.
    pub holder: NodeId,
    /// How often it was begun.
    pub attempts: u32,
    /// The prompt it was run on, once that is made.
    pub prompt: Option<PromptBuilt>,
    /// Why it failed or was interrupted.
    pub failure: Option<Failure>,
    /// When it was begun.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// The right to write to a turn. It ends when somebody else takes the turn over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The turn.
    pub turn: TurnId,
    /// Higher than that of everybody who held the conversation before.
    pub fence: u64,
}

/// A turn to be begun.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginTurn {
    /// Its id, made for this turn.
    pub turn: TurnId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Who runs it.
    pub node: NodeId,
    /// Its effective trust.
    pub trust: Trust,
    /// The messages it answers.
    pub take: Take,
    /// How long the node may be silent before it is thought dead.
    pub lease: Duration,
    /// When.
    pub now: Timestamp,
}

/// Which messages a turn takes up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Take {
    /// All that no turn has taken up yet. Some may be newer than those the turn's trust was made from: look at what
    /// was taken.
    Pending,
    /// These, as far as no other turn has them.
    Messages(Vec<MessageId>),
    /// None: the turn answers something else, such as a schedule.
    Nothing,
}

/// What became of the wish to begin a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Begin {
    /// It has begun.
    Begun(Begun),
    /// Another one is under way.
    Busy {
        /// Which.
        turn: TurnId,
        /// On which node.
        holder: NodeId,
    },
    /// Another one was cut off, and has to be taken over first.
    Unfinished {
        /// Which.
        turn: TurnId,
    },
    /// Other turns have taken the messages: there is nothing to answer.
    NothingToTake,
}

/// A turn that has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Begun {
    /// The right to write to it.
    pub hold: Hold,
    /// The messages it answers, in order.
    pub messages: Vec<Message>,
    /// The number of the step that is recorded next.
    pub next_step: u64,
    /// The version of the conversation's settings when it began.
    pub settings_version: u64,
}

/// A step to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// Its number, as its writer thinks.
    pub number: u64,
    /// What was done.
    pub step: Step,
    /// What is needed to go on behind it, in whatever form the turn has; `None` leaves what was saved before.
    pub saved: Option<Value>,
    /// When.
    pub at: Timestamp,
}

/// How a turn ends.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishTurn {
    /// How.
    pub outcome: Outcome,
    /// What it says to the conversation.
    pub reply: Vec<NewMessage>,
    /// Why, if it failed.
    pub failure: Option<Failure>,
    /// When.
    pub at: Timestamp,
}

/// A wish to go on with a turn that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeOver {
    /// Which.
    pub turn: TurnId,
    /// Who wants it.
    pub node: NodeId,
    /// How long the node may be silent before it is thought dead.
    pub lease: Duration,
    /// How often a turn may be begun, the first time included.
    pub attempts_limit: u32,
    /// When.
    pub now: Timestamp,
}

/// A turn that was taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenOver {
    /// The right to write to it.
    pub hold: Hold,
    /// The turn.
    pub turn: Turn,
    /// What it had done.
    pub journal: Journal,
    /// What was saved last.
    pub saved: Option<Value>,
    /// What to do with it.
    pub after_crash: AfterCrash,
}

impl Store {
    /// Begins a turn and takes up its messages, if no other turn of the conversation is under way. Begun again with the
    /// same id on the same node, it is the same turn.
    ///
    /// # Errors
    /// If there is no such conversation, [`StoreError::UsedBefore`] if the id is another turn's, or if it can't be
    /// written.
    pub async fn begin_turn(&self, begin: BeginTurn) -> Result<Begin, StoreError> {
        self.run(begin::Operation(begin)).await
    }

    /// Takes a message in and begins the turn that answers it, unless it was taken in before, others wait, or another
    /// turn is under way: then it waits for its turn. When this returns, all of it is durable.
    ///
    /// # Errors
    /// As [`Store::accept`] and [`Store::begin_turn`].
    pub async fn accept_and_begin(
        &self,
        both: AcceptAndBegin,
    ) -> Result<(Accepted, Option<Begin>), StoreError> {
        self.run(accept::Operation(both)).await
    }

    /// Says that the turn's holder lives.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds it now, or if it can't be written.
    pub async fn renew_lease(&self, hold: &Hold, now: Timestamp) -> Result<(), StoreError> {
        self.run(steps::Renew { hold: hold.clone(), now }).await
    }

    /// Leaves the turn to whoever wants it: it can be taken over at once, as if its holder had not been heard of for too long.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds it now, or if it can't be written.
    pub async fn leave_turn(&self, hold: &Hold) -> Result<(), StoreError> {
        self.run(steps::Leave(hold.clone())).await
    }

    /// Records what was done, before the next thing is begun. The same step again at the same number is harmless.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds the turn now, [`StoreError::Refused`] if another step stands at
    /// its number or those before are missing, or if it can't be written.
    pub async fn record_step(&self, hold: &Hold, step: NewStep) -> Result<(), StoreError> {
        self.run(steps::Record { hold: hold.clone(), step }).await
    }

    /// Keeps what is needed to go on, without a step.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds the turn now, or if it can't be written.
    pub async fn save_turn(&self, hold: &Hold, saved: Value, now: Timestamp) -> Result<(), StoreError> {
        self.run(steps::Save { hold: hold.clone(), saved, now }).await
    }

    /// Ends a turn: its reply, its last step, its state and the end of its lease are durable together. Gives the reply
    /// as it stands in the conversation. To end it the same way again is harmless.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds the turn now, [`StoreError::Refused`] if a message is another
    /// conversation's, or if it can't be written.
    pub async fn finish_turn(&self, hold: &Hold, finish: FinishTurn) -> Result<Vec<Message>, StoreError> {
        self.run(finish::Finish { hold: hold.clone(), finish }).await
    }

    /// Turns that are under way although their holder is thought dead at `now`.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn unfinished_turns(&self, now: Timestamp) -> Result<Vec<Turn>, StoreError> {
        self.run(recover::Unfinished { now }).await
    }

    /// Claims a turn that was cut off, and says what to do with it. `None` if somebody holds it, or it has ended: of
    /// several who try, one gets it.
    ///
    /// # Errors
    /// If there is no such turn, or it can't be written.
    pub async fn take_over(&self, wish: TakeOver) -> Result<Option<TakenOver>, StoreError> {
        self.run(recover::Claim(wish)).await
    }

    /// Ends a turn that may not be run again, and tells the conversation so. Gives the notice as it stands there. To
    /// report it again is harmless.
    ///
    /// # Errors
    /// As [`Store::finish_turn`].
    pub async fn report_interrupted(
        &self,
        hold: &Hold,
        why: &WhyReported,
        notice: NewMessage,
    ) -> Result<Message, StoreError> {
        self.run(finish::Report { hold: hold.clone(), why: interrupted(why), notice }).await
    }

    /// A turn.
    ///
    /// # Errors
    /// If there is none of that id, or it can't be read.
    pub async fn turn(&self, id: &TurnId) -> Result<Turn, StoreError> {
        self.run(rows::Get(id.clone())).await
    }

    /// Up to `limit` turns whose ids begin with `beginning`, the newest first. Looks through all turns: it is for people,
    /// who type no more of an id than they must.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn turns_beginning_with(&self, beginning: &str, limit: u32) -> Result<Vec<TurnId>, StoreError> {
        self.run(rows::BeginningWith { beginning: beginning.to_owned(), limit }).await
    }

    /// The turn that has taken up a message, and what it answered. `None` as long as the message waits.
    ///
    /// # Errors
    /// If there is no such message, or it can't be read.
    pub async fn answer_to(&self, message: &MessageId) -> Result<Option<Answer>, StoreError> {
        self.run(answer::To(message.clone())).await
    }

    /// Up to `limit` turns of a conversation, the newest first; with `before`, those whose fence is lower.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn turns(
        &self,
        conversation: &ConversationId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<Turn>, StoreError> {
        self.run(rows::List { conversation: conversation.clone(), before, limit }).await
    }

    /// Up to `limit` turns that pass `filter`, of whichever conversations, the newest first; with `after`, those behind it.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn list_turns(
        &self,
        filter: TurnFilter,
        after: Option<TurnKey>,
        limit: u32,
    ) -> Result<Vec<ListedTurn>, StoreError> {
        self.run(listing::List { filter, after, limit }).await
    }

    /// Says of turns whose they are where an older node has not, which shares the store while it is upgraded. Tells how many.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn name_owners_of_turns(&self) -> Result<u64, StoreError> {
        self.run(listing::NameOwners).await
    }

    /// What a turn has done, in order.
    ///
    /// # Errors
    /// If there is no such turn, or it can't be read.
    pub async fn journal(&self, turn: &TurnId) -> Result<Vec<RecordedStep>, StoreError> {
        self.run(rows::Steps(turn.clone())).await
    }
}

/// A step of a turn, with its number and time.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// Its number; the first is 1.
    pub number: u64,
    /// What was done.
    pub step: Step,
    /// When it was recorded.
    pub at: Timestamp,
}

fn interrupted(why: &WhyReported) -> Failure {
    let failure = Failure::new(ErrorCategory::InternalError, why.to_string());
    failure.with_public("the turn was interrupted and is not run again")
}
