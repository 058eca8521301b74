//! Workflows at work: each run is a conversation of its own, its steps on record before and after they are done, so that
//! another process can go on where this one was cut off. What comes next is decided by `foreword_core::workflow`.

mod driving;
mod error;
mod journal;
mod progress;
mod resuming;
mod seeing;
mod starting;
mod steps;
mod taking_over;

use foreword_core::failure::OwnerOnly;
use foreword_core::id::{BadId, ConversationId, RunId};
use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::Resume;
use foreword_prompt::trust::Trust;
use foreword_store::conversation_settings::ConversationSettings;
use serde_json::{Map, Value};

pub use self::error::WorkflowError;
pub use self::journal::{StepOutput, step_state};
pub(crate) use self::progress::Runs;
pub use self::progress::{RunProgress, StepKind};
pub use self::seeing::is_open_to;
pub(crate) use self::starting::OnDrop;
use crate::inbound::Occasion;

/// A workflow to be run.
///
/// ```
/// use foreword_agent::inbound::Occasion;
/// use foreword_agent::workflows::StartWorkflow;
/// let start = StartWorkflow::new("weekly-review", Occasion::default());
/// assert!(start.parameters.is_empty() && start.within.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StartWorkflow {
    /// Its name.
    pub name: String,
    /// What it is given, by name.
    pub parameters: Map<String, Value>,
    /// On which occasion. What its purpose says of taint and trust holds for the run.
    pub occasion: Occasion,
    /// The run's id. One that exists already is the same run: it is not started again. Default: a new one.
    pub run: Option<RunId>,
    /// The workflows that are under way around it, the outermost first.
    pub within: Vec<String>,
    /// Settings of the run's conversation, which go before those of the workflow's file. Whoever starts the run must be
    /// allowed to set them.
    pub settings: ConversationSettings,
}

impl StartWorkflow {
    /// The workflow `name`, without parameters, within no other.
    #[must_use]
    pub fn new(name: impl Into<String>, occasion: Occasion) -> Self {
        Self {
            name: name.into(),
            parameters: Map::new(),
            occasion,
            run: None,
            within: Vec::new(),
            settings: ConversationSettings::default(),
        }
    }
}

/// A run that ended before its end, to be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeWorkflow {
    /// The run.
    pub run: RunId,
    /// What to do about the step that failed.
    pub how: Resume,
    /// Whether to go on although steps that are done read differently by now.
    pub force: bool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// The run.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What it gave; empty if it did not come to its end.
    pub output: String,
    /// Why it failed, and at which step.
    pub error: Option<OwnerOnly<String>>,
    /// Whether it has read text from outside: then its output is from outside too.
    pub tainted: bool,
    /// The steps that were begun, in order.
    pub steps: Vec<StepEnd>,
    /// How many steps there are.
    pub of: usize,
}

impl RunEnd {
    /// Why it failed, as a reader of `trust` sees it: the cause for the owner, the step for everybody else.
    #[must_use]
    pub fn failure_at(&self, trust: Trust) -> Option<String> {
        let error = self.error.as_ref()?;
        let step = self.steps.iter().find(|step| !step.done).map(|step| format!("step `{}`", step.name));
        let public = || format!("{} (`{}`)", step.unwrap_or_else(|| "its end".to_owned()), self.run);
        Some(error.at(trust).cloned().unwrap_or_else(public))
    }
}

/// How far a step came.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEnd {
    /// Its name.
    pub name: String,
    /// Whether it is done.
    pub done: bool,
    /// What it gave.
    pub output: Option<String>,
    /// Why it failed, now or before.
    pub error: Option<OwnerOnly<String>>,
}

/// How the conversations of runs begin.
pub(crate) const CONVERSATION: &str = "workflow-";

/// The conversation in which a run takes place.
///
/// # Errors
/// If the run's id is too long for that.
pub fn conversation_of(run: &RunId) -> Result<ConversationId, BadId> {
    ConversationId::new(format!("{CONVERSATION}{run}"))
}
