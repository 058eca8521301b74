//! How runs go, for whoever looks on, and the tasks that go on with runs others have left.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foreword_core::failure::OwnerOnly;
use foreword_core::id::RunId;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use crate::agent::Agent;

/// How many things a slow reader may be behind.
const KEPT: usize = 256;

/// Something that happens in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunProgress {
    /// A step begins.
    StepStarted {
        /// The run.
        run: RunId,
        /// The step's number; the first is 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// Its name.
        name: String,
        /// What it does.
        kind: StepKind,
    },
    /// A step has ended.
    StepEnded {
        /// The run.
        run: RunId,
        /// The step's number; the first is 1.
        number: usize,
        /// What it gave, or why it failed.
        result: Result<String, OwnerOnly<String>>,
    },
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepKind {
    /// The model is asked; its words come in the feed of the run's conversation.
    Prompt,
    /// This tool is called.
    Tool(String),
}

/// What all runs of an agent share.
pub(crate) struct Runs {
    told: broadcast::Sender<RunProgress>,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Default for Runs {
    fn default() -> Self {
        Self { told: broadcast::Sender::new(KEPT), tasks: Mutex::default() }
    }
}

impl Runs {
    pub(super) fn tell(&self, progress: RunProgress) {
        // Nobody need look on.
        let _ = self.told.send(progress);
    }

    /// Keeps a task that is to end with the agent.
    pub(super) fn keep(&self, task: AbortHandle) {
        let mut tasks = self.tasks();
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Lets go of the tasks; what they were at is gone on with by whoever starts next.
    pub(crate) fn stop(&self) {
        self.tasks().drain(..).for_each(|task| task.abort());
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<AbortHandle>> {
        // Nothing can fail while it is locked.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agent {
    /// How the runs of workflows go in this process, from now on.
    #[must_use]
    pub fn watch_workflows(&self) -> broadcast::Receiver<RunProgress> {
        self.shared().runs.told.subscribe()
    }
}
