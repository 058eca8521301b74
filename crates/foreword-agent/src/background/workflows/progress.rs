//! Progress events of runs, and the background tasks that resume interrupted runs.

use foreword_core::failure::OwnerOnly;
use foreword_core::id::RunId;
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use crate::agent::Agent;

/// Capacity of the progress channel.
const CHANNEL_CAPACITY: usize = 256;

/// A progress event of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunProgress {
    /// A step begins.
    StepStarted {
        run: RunId,
        /// The step's number; the first is 1.
        number: usize,
        /// Number of steps.
        of: usize,
        name: String,
        kind: StepKind,
    },
    /// A step has ended.
    StepEnded {
        run: RunId,
        /// The step's number; the first is 1.
        number: usize,
        /// Its output or error.
        result: Result<String, OwnerOnly<String>>,
    },
}

/// The kind of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepKind {
    /// A model turn; its text streams in the feed of the run's conversation.
    Prompt,
    /// A call of this tool.
    Tool(String),
}

/// State shared by all runs of an agent.
pub(crate) struct Runs {
    progress: broadcast::Sender<RunProgress>,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Default for Runs {
    fn default() -> Self {
        Self { progress: broadcast::Sender::new(CHANNEL_CAPACITY), tasks: Mutex::default() }
    }
}

impl Runs {
    pub(super) fn send(&self, progress: RunProgress) {
        // Fails without subscribers.
        let _ = self.progress.send(progress);
    }

    /// Adds a task that is aborted when the agent stops.
    pub(super) fn add_task(&self, task: AbortHandle) {
        let mut tasks = self.tasks.lock();
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Aborts the tasks. The next process resumes their runs.
    pub(crate) fn stop(&self) {
        self.tasks.lock().drain(..).for_each(|task| task.abort());
    }
}

impl Agent {
    /// Subscribes to the progress of the runs in this process.
    #[must_use]
    pub fn watch_workflows(&self) -> broadcast::Receiver<RunProgress> {
        self.shared().runs.progress.subscribe()
    }
}
