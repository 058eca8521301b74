//! Workflow runs. Each run has its own conversation. Steps are stored before and after execution, so that another
//! process can resume an interrupted run. `foreword_core::workflow` chooses the next step.

mod access;
mod drive;
mod journal;
mod progress;
mod resume;
mod start;
mod steps;
mod take_over;

use foreword_core::failure::OwnerOnly;
use foreword_core::id::{BadId, ConversationId, RunId};
use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::Resume;
use foreword_prompt::trust::Trust;
use foreword_store::conversation_settings::ConversationSettings;
use serde_json::{Map, Value};

pub use self::access::is_visible_to;
pub use self::journal::{StepOutput, step_state};
pub(crate) use self::progress::Runs;
pub use self::progress::{RunProgress, StepKind};
pub(crate) use self::start::OnDrop;
use crate::conversation::inbound::TurnOrigin;
pub use crate::error::workflow::WorkflowError;

/// A request to run a workflow.
///
/// ```
/// use foreword_agent::conversation::inbound::TurnOrigin;
/// use foreword_agent::background::workflows::StartWorkflow;
/// let start = StartWorkflow::new("weekly-review", TurnOrigin::default());
/// assert!(start.parameters.is_empty() && start.within.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StartWorkflow {
    pub name: String,
    /// Arguments by parameter name.
    pub parameters: Map<String, Value>,
    /// The occasion. Taint and trust ceiling of its purpose apply to the run.
    pub occasion: TurnOrigin,
    /// The run's id; an existing run is joined, not started again. Default: a new id.
    pub run: Option<RunId>,
    /// The enclosing workflows, outermost first.
    pub within: Vec<String>,
    /// Settings of the run's conversation; they override those of the workflow file. The caller must check that the
    /// starter may set them.
    pub settings: ConversationSettings,
}

impl StartWorkflow {
    /// The workflow `name`, without arguments, not nested.
    #[must_use]
    pub fn new(name: impl Into<String>, occasion: TurnOrigin) -> Self {
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

/// A request to resume a failed or cancelled run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeWorkflow {
    pub run: RunId,
    /// How to treat the failed step.
    pub how: Resume,
    /// Whether to resume although finished steps have changed in the file.
    pub force: bool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    pub outcome: Outcome,
    /// The output; empty unless the run is done.
    pub output: String,
    /// Why it failed, and at which step.
    pub error: Option<OwnerOnly<String>>,
    /// Whether it has read untrusted text, which makes its output untrusted.
    pub tainted: bool,
    /// The started steps, in order.
    pub steps: Vec<StepEnd>,
    /// Number of steps in the workflow.
    pub of: usize,
}

impl RunEnd {
    /// The failure as a reader with `trust` sees it: the cause for the owner, only the step for others.
    #[must_use]
    pub fn failure_at(&self, trust: Trust) -> Option<String> {
        let error = self.error.as_ref()?;
        let step = self.steps.iter().find(|step| !step.done).map(|step| format!("step `{}`", step.name));
        let public = || format!("{} (`{}`)", step.unwrap_or_else(|| "its end".to_owned()), self.run);
        Some(error.at(trust).cloned().unwrap_or_else(public))
    }
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEnd {
    pub name: String,
    /// Whether it is done.
    pub done: bool,
    pub output: Option<String>,
    /// Its last error.
    pub error: Option<OwnerOnly<String>>,
}

/// Id prefix of workflow conversations.
pub(crate) const CONVERSATION: &str = "workflow-";

/// The conversation of a run.
///
/// # Errors
/// If the run's id is too long.
pub fn conversation_of(run: &RunId) -> Result<ConversationId, BadId> {
    ConversationId::new(format!("{CONVERSATION}{run}"))
}
