//! Runs of workflows: who runs each, how far its steps came, and which were cut off. Held by a lease as turns are: one
//! node at a time, and one that was thought dead can't write any more.

mod hold;
mod reopen;
mod rows;
mod write;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use foreword_core::failure::OwnerOnly;
use foreword_core::id::{ConversationId, NodeId, RunId};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::Outcome;
use foreword_core::word::UnknownWord;
use foreword_core::workflow::Reopen;
use foreword_prompt::text::ContentHash;
use serde_json::Value;

use crate::error::StoreError;
use crate::store::Store;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Under way, or cut off.
    Running,
    /// It ended.
    Ended(Outcome),
}

impl RunState {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Running,
        Self::Ended(Outcome::Done),
        Self::Ended(Outcome::Failed),
        Self::Ended(Outcome::Cancelled),
    ];

    /// The word it is stored as.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended(Outcome::Done) => "done",
            Self::Ended(Outcome::Failed) => "failed",
            Self::Ended(Outcome::Cancelled) => "cancelled",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RunState {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| UnknownWord { what: "state of a run", word: word.to_owned() })
    }
}

/// Whether a step begins for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStart {
    /// Nobody has begun it before.
    First,
    /// It was begun before: by this holder, who did not hear the answer, or by one that is gone.
    Again,
}

/// A run of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowRun {
    /// Its id.
    pub id: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// What it was started with.
    pub parameters: Value,
    /// Where it stands.
    pub state: RunState,
    /// The conversation it was started in, as long as there is one.
    pub conversation: Option<ConversationId>,
    /// The user who started it, by name.
    pub started_by: Option<String>,
    /// The occasion it was started on, as whoever runs it has written it down.
    pub occasion: Option<Value>,
    /// The hash of the file it was last run from.
    pub workflow_hash: Option<ContentHash>,
    /// Whether it has read text from outside.
    pub tainted: bool,
    /// The node that ran it last.
    pub holder: NodeId,
    /// What it gave.
    pub output: Option<Value>,
    /// Why it failed.
    pub error: Option<OwnerOnly<String>>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// How far a step of a run came. One that was started and has not ended may have done something already.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowStep {
    /// Its number; the first is 1.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// How often it was begun anew; 1 the first time.
    pub attempts: u64,
    /// Whether doing it twice is not the same as doing it once.
    pub side_effects: bool,
    /// The hash of what it said when it was begun.
    pub definition: Option<ContentHash>,
    /// What it gave.
    pub output: Option<Value>,
    /// Why it failed. One that has given something has failed with this before.
    pub error: Option<OwnerOnly<String>>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// The right to write to a run. It ends when somebody else takes the run over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHold {
    /// The run.
    pub run: RunId,
    /// Higher than that of everybody who held the run before.
    pub fence: u64,
}

/// A run to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRun {
    /// Its id, made for this run.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// What it is started with.
    pub parameters: Value,
    /// The conversation it is started in.
    pub conversation: Option<ConversationId>,
    /// The user who starts it, by name.
    pub started_by: Option<String>,
    /// The occasion it is started on, for whoever goes on with it.
    pub occasion: Option<Value>,
    /// The hash of the file.
    pub workflow_hash: Option<ContentHash>,
    /// Whether what it is started with may come from outside.
    pub tainted: bool,
    /// Who runs it.
    pub node: NodeId,
    /// How long the node may be silent before it is thought dead.
    pub lease: Duration,
    /// When.
    pub now: Timestamp,
}

/// A step that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartStep {
    /// Its number; the first is 1.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// Whether doing it twice is not the same as doing it once.
    pub side_effects: bool,
    /// The hash of what it says.
    pub definition: Option<ContentHash>,
}

impl StartStep {
    /// A step that changes nothing in the world.
    #[must_use]
    pub fn new(number: u64, name: &str) -> Self {
        Self { number, name: name.to_owned(), side_effects: false, definition: None }
    }
}

/// A run that ended before its end, to be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReopenRun {
    /// The run.
    pub run: RunId,
    /// What to change about its steps.
    pub reopen: Reopen,
    /// What the step that is begun anew is called by now.
    pub name: Option<String>,
    /// The hash of the file it goes on with.
    pub workflow_hash: Option<ContentHash>,
    /// Who runs it.
    pub node: NodeId,
    /// How long the node may be silent before it is thought dead.
    pub lease: Duration,
    /// When.
    pub now: Timestamp,
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishRun {
    /// How.
    pub outcome: Outcome,
    /// What it gives.
    pub output: Option<Value>,
    /// Why, if it failed.
    pub error: Option<OwnerOnly<String>>,
    /// When.
    pub at: Timestamp,
}

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFilter {
    /// Those of this workflow.
    pub workflow: Option<String>,
    /// Those that this user has started.
    pub started_by: Option<String>,
    /// Those behind this one in the list: when it was started, and its id.
    pub before: Option<(Timestamp, RunId)>,
}

impl Store {
    /// Starts a run. Started again with the same id on the same node, it is the same run.
    ///
    /// # Errors
    /// [`StoreError::UsedBefore`] if the id is another run's, or if it can't be written.
    pub async fn start_run(&self, start: StartRun) -> Result<RunHold, StoreError> {
        self.run(write::Start(start)).await
    }

    /// Says that the run's holder lives.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds it now, or if it can't be written.
    pub async fn renew_run(&self, hold: &RunHold, now: Timestamp) -> Result<(), StoreError> {
        self.run(write::Renew { hold: hold.clone(), now }).await
    }

    /// Notes that a step is about to begin, and says whether it was noted before: then it may have been done, and what is
    /// known of it is in the run.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds the run now, [`StoreError::Refused`] if another step has this
    /// number or those before are missing, or if it can't be written.
    pub async fn start_workflow_step(
        &self,
        hold: &RunHold,
        step: StartStep,
        now: Timestamp,
    ) -> Result<StepStart, StoreError> {
        self.run(write::Begin { hold: hold.clone(), step, now }).await
    }

    /// Notes that the run has read text from outside. There is no way back.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds the run now, or if it can't be written.
    pub async fn taint_run(&self, hold: &RunHold, now: Timestamp) -> Result<(), StoreError> {
        self.run(write::Taint { hold: hold.clone(), now }).await
    }

    /// Opens a run again that failed or was stopped; what its steps gave stays. `None` if it is under way, or has ended
    /// well: of several who try, one gets it.
    ///
    /// # Errors
    /// If there is no such run or step, or it can't be written.
    pub async fn reopen_run(&self, reopen: ReopenRun) -> Result<Option<RunHold>, StoreError> {
        self.run(reopen::Operation(reopen)).await
    }

    /// Notes what a step gave, or why it failed. The first word on it stands.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds the run now, or if the step was not started, or if it can't be
    /// written.
    pub async fn finish_workflow_step(
        &self,
        hold: &RunHold,
        number: u64,
        result: Result<Value, OwnerOnly<String>>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.run(write::FinishStep { hold: hold.clone(), number, result, now }).await
    }

    /// Ends a run. To end it the same way again is harmless.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if somebody else holds the run now, or if it can't be written.
    pub async fn finish_run(&self, hold: &RunHold, finish: FinishRun) -> Result<(), StoreError> {
        self.run(write::Finish { hold: hold.clone(), finish }).await
    }

    /// A run and its steps, in order.
    ///
    /// # Errors
    /// If there is none of that id, or it can't be read.
    pub async fn workflow_run(&self, id: &RunId) -> Result<(WorkflowRun, Vec<WorkflowStep>), StoreError> {
        self.run(rows::Get(id.clone())).await
    }

    /// Up to `limit` runs, those started last first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn workflow_runs(&self, filter: RunFilter, limit: u32) -> Result<Vec<WorkflowRun>, StoreError> {
        self.run(rows::List { filter, limit }).await
    }

    /// Runs that are under way although their holder is thought dead at `now`.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn unfinished_runs(&self, now: Timestamp) -> Result<Vec<WorkflowRun>, StoreError> {
        self.run(hold::Unfinished(now)).await
    }

    /// Claims a run that was cut off. `None` if somebody holds it, or it has ended: of several who try, one gets it.
    /// Whether it goes on or is ended as failed is for its taker to say, from how far its steps came.
    ///
    /// # Errors
    /// If there is no such run, or it can't be written.
    pub async fn take_over_run(
        &self,
        run: &RunId,
        node: &NodeId,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Option<RunHold>, StoreError> {
        self.run(hold::TakeOver { run: run.clone(), node: node.clone(), lease, now }).await
    }
}
