//! Workflow runs: state, steps and holder of each. Protected by leases like turns: one node at a time, and a former
//! holder can't write.

mod lease;
mod reopen;
mod rows;
mod write;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use foreword_core::failure::OwnerOnly;
use foreword_core::id::{ConversationId, NodeId, RunId};
use foreword_core::string_enum::UnknownValue;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::Reopen;
use foreword_prompt::text::ContentHash;
use serde_json::Value;

use crate::error::StoreError;
use crate::store::Store;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Running, or interrupted by a crash.
    Running,
    Ended(Outcome),
}

impl RunState {
    /// All states.
    pub const ALL: [Self; 4] = [
        Self::Running,
        Self::Ended(Outcome::Done),
        Self::Ended(Outcome::Failed),
        Self::Ended(Outcome::Cancelled),
    ];

    /// Its stored name.
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
    type Err = UnknownValue;

    fn from_str(word: &str) -> Result<Self, UnknownValue> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| UnknownValue { what: "state of a run", word: word.to_owned() })
    }
}

/// Whether a step is started for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStart {
    /// It was not started before.
    First,
    /// It was started before, by this holder (a retry after a lost response) or by a crashed one.
    Again,
}

/// A run of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowRun {
    pub id: RunId,
    /// The workflow's name.
    pub workflow: String,
    pub parameters: Value,
    pub state: RunState,
    /// The conversation it was started in; `None` if that was deleted.
    pub conversation: Option<ConversationId>,
    /// The user who started it, by name.
    pub started_by: Option<String>,
    /// The serialised occasion it was started on.
    pub occasion: Option<Value>,
    /// The hash of the workflow file it last ran with.
    pub workflow_hash: Option<ContentHash>,
    /// Whether it has read text from outside.
    pub tainted: bool,
    /// The node that ran it last.
    pub holder: NodeId,
    pub output: Option<Value>,
    /// Why it failed.
    pub error: Option<OwnerOnly<String>>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// The record of a step. A step that was started and has not ended may have had side effects.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowStepRecord {
    /// Its number, from 1.
    pub number: u64,
    pub name: String,
    /// How often it was started.
    pub attempts: u64,
    /// Whether it has side effects, so that repeating it is not safe.
    pub side_effects: bool,
    /// The hash of its definition when it was started.
    pub definition: Option<ContentHash>,
    pub output: Option<Value>,
    /// Why it failed. A step with an output has failed with this in an earlier attempt.
    pub error: Option<OwnerOnly<String>>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// Proof of holding a run's lease, required for all writes. Invalid once another node takes the run over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLease {
    pub run: RunId,
    /// The fencing token: higher than that of all earlier holders.
    pub fence: u64,
}

/// A run to start.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRun {
    /// Its new id.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    pub parameters: Value,
    /// The conversation it is started in.
    pub conversation: Option<ConversationId>,
    /// The user who starts it, by name.
    pub started_by: Option<String>,
    /// The serialised occasion, for resuming on another node.
    pub occasion: Option<Value>,
    /// The hash of the workflow file.
    pub workflow_hash: Option<ContentHash>,
    /// Whether its parameters may come from outside.
    pub tainted: bool,
    /// The node that runs it.
    pub node: NodeId,
    pub lease: Duration,
    /// The current time.
    pub now: Timestamp,
}

/// A step to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartStep {
    /// Its number, from 1.
    pub number: u64,
    pub name: String,
    /// Whether it has side effects, so that repeating it is not safe.
    pub side_effects: bool,
    pub definition: Option<ContentHash>,
}

impl StartStep {
    /// A step without side effects.
    #[must_use]
    pub fn new(number: u64, name: &str) -> Self {
        Self { number, name: name.to_owned(), side_effects: false, definition: None }
    }
}

/// A request to resume a failed or cancelled run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReopenRun {
    pub run: RunId,
    /// What to change about its steps.
    pub reopen: Reopen,
    /// The new name of the step to repeat.
    pub name: Option<String>,
    /// The hash of the workflow file it continues with.
    pub workflow_hash: Option<ContentHash>,
    /// The node that runs it.
    pub node: NodeId,
    pub lease: Duration,
    /// The current time.
    pub now: Timestamp,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishRun {
    pub outcome: Outcome,
    pub output: Option<Value>,
    /// The error, if it failed.
    pub error: Option<OwnerOnly<String>>,
    /// The current time.
    pub at: Timestamp,
}

/// Which runs to list; `None` matches all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFilter {
    /// Runs of this workflow.
    pub workflow: Option<String>,
    /// Runs that this user has started.
    pub started_by: Option<String>,
    /// Runs after this one in the list: its start time and id.
    pub before: Option<(Timestamp, RunId)>,
}

impl Store {
    /// Starts a run. Idempotent for the same id and node.
    ///
    /// # Errors
    /// [`StoreError::UsedBefore`] if the id is another run's, or if the database can't be written.
    pub async fn start_run(&self, start: StartRun) -> Result<RunLease, StoreError> {
        self.run(write::Start(start)).await
    }

    /// Renews the lease.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the run over, or if the database can't be written.
    pub async fn renew_run(&self, hold: &RunLease, now: Timestamp) -> Result<(), StoreError> {
        self.run(write::Renew { hold: hold.clone(), now }).await
    }

    /// Records that a step is about to start. Returns whether it was started before: then it may have been executed,
    /// and its record tells how far it came.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the run over, [`StoreError::Refused`] if another step has
    /// this number or earlier steps are missing, or if the database can't be written.
    pub async fn start_workflow_step(
        &self,
        hold: &RunLease,
        step: StartStep,
        now: Timestamp,
    ) -> Result<StepStart, StoreError> {
        self.run(write::Begin { hold: hold.clone(), step, now }).await
    }

    /// Marks the run as tainted by text from outside, permanently.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the run over, or if the database can't be written.
    pub async fn taint_run(&self, hold: &RunLease, now: Timestamp) -> Result<(), StoreError> {
        self.run(write::Taint { hold: hold.clone(), now }).await
    }

    /// Reopens a failed or cancelled run; the outputs of its steps stay. `None` if it is running or has succeeded. Of
    /// several concurrent callers, one gets it.
    ///
    /// # Errors
    /// If there is no such run or step, or the database can't be written.
    pub async fn reopen_run(&self, reopen: ReopenRun) -> Result<Option<RunLease>, StoreError> {
        self.run(reopen::Operation(reopen)).await
    }

    /// Records the output or the error of a step. Only the first result counts.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the run over, or if the step was not started, or if the
    /// database can't be written.
    pub async fn finish_workflow_step(
        &self,
        hold: &RunLease,
        number: u64,
        result: Result<Value, OwnerOnly<String>>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.run(write::FinishStep { hold: hold.clone(), number, result, now }).await
    }

    /// Ends a run. Idempotent.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another node has taken the run over, or if the database can't be written.
    pub async fn finish_run(&self, hold: &RunLease, finish: FinishRun) -> Result<(), StoreError> {
        self.run(write::Finish { hold: hold.clone(), finish }).await
    }

    /// A run and its steps, in order.
    ///
    /// # Errors
    /// If there is no such run, or the database can't be read.
    pub async fn workflow_run(
        &self,
        id: &RunId,
    ) -> Result<(WorkflowRun, Vec<WorkflowStepRecord>), StoreError> {
        self.run(rows::Get(id.clone())).await
    }

    /// Up to `limit` runs, the newest first.
    pub async fn workflow_runs(&self, filter: RunFilter, limit: u32) -> Result<Vec<WorkflowRun>, StoreError> {
        self.run(rows::List { filter, limit }).await
    }

    /// Running runs whose lease has expired at `now`.
    pub async fn unfinished_runs(&self, now: Timestamp) -> Result<Vec<WorkflowRun>, StoreError> {
        self.run(lease::Unfinished(now)).await
    }

    /// Claims an interrupted run. `None` if its lease is held or it has ended. Of several concurrent callers, one
    /// gets it. The caller decides from the steps whether to resume or fail it.
    ///
    /// # Errors
    /// If there is no such run, or the database can't be written.
    pub async fn take_over_run(
        &self,
        run: &RunId,
        node: &NodeId,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Option<RunLease>, StoreError> {
        self.run(lease::TakeOver { run: run.clone(), node: node.clone(), lease, now }).await
    }
}
