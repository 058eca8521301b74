//! The state that all conversations of an agent share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::Event;
use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;
use foreword_observe::recorder::Recorder;
use foreword_observe::redact::Redacted;
use foreword_observe::sink::EventSink;
use foreword_store::events::EventQueue;
use foreword_store::store::Store;
use foreword_workspace::workspace::Workspace;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use crate::agent::WeakAgent;
use crate::background::schedules::RunningFirings;
use crate::background::workflows::Runs;
use crate::clock_and_rng::ClockAndRng;
use crate::conversation::feed::ObserverSlot;
use crate::error::AgentError;
use crate::models::Models;
use crate::prompt::calibrations::Calibrations;
use crate::prompt::failing_sources::SourceMonitor;
use crate::prompt::workspace_reload::{Activity, FileChanges, Reloaded};
use crate::spending::SpendTracker;
use crate::tool::sets::ToolSets;
use crate::tool::{OutsideTools, Tool, ToolSource};
use crate::turn::cache_diagnosis_worker::CacheDiagnosisWorker;
use crate::turn::prefetch::PrefetchedInputs;
use crate::turn::running_turns::RunningTurns;

/// The duration of a turn's lease. Without renewal, other nodes treat the turn as interrupted.
pub(crate) const LEASE_DURATION: Duration = Duration::from_secs(30);
/// The maximum number of starts of a turn, including the first. Limits turns that crash their node.
pub(crate) const MAX_TURN_ATTEMPTS: u32 = 3;

/// The timeout of flushing the event queue before events are read.
pub(crate) const LOG_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The dependencies of an agent.
pub struct Parts {
    /// The workspace with configuration and prompt files.
    pub workspace: Arc<Workspace>,
    pub store: Store,
    /// Receives all events.
    pub recorder: Recorder,
    /// The queue of events that are not stored yet.
    pub events: EventQueue,
    /// The models that can be called.
    pub models: Arc<dyn Models>,
    /// The built-in tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The source of external tools.
    pub outside: Option<Arc<dyn ToolSource>>,
    /// The id of this process.
    pub node: NodeId,
    /// The clock and the random number generator.
    pub clock_and_rng: Arc<dyn ClockAndRng>,
}

/// A sink that adds events to the queue of the store.
///
/// ```no_run
/// # use foreword_observe::{recorder::Recorder, redact::Redactor};
/// # fn recorder(redactor: Redactor, events: &foreword_store::events::EventQueue) -> Recorder {
/// Recorder::to_sink(redactor, foreword_agent::shared::into_store(events))
/// # }
/// ```
pub fn into_store(events: &EventQueue) -> impl EventSink + use<> {
    let events = events.clone();
    move |event: &Redacted| events.record(Arc::clone(event.event()))
}

/// The shared state.
pub(crate) struct Shared {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Store,
    pub(crate) recorder: Recorder,
    pub(crate) events: EventQueue,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tools: BTreeMap<String, Arc<dyn Tool>>,
    pub(crate) outside: Option<Arc<dyn ToolSource>>,
    /// The agent that owns this state.
    pub(crate) host: WeakAgent,
    pub(crate) node: NodeId,
    pub(crate) clock_and_rng: Arc<dyn ClockAndRng>,
    pub(crate) lease: Duration,
    pub(crate) calibrations: Calibrations,
    pub(crate) cache_diagnosis_worker: CacheDiagnosisWorker,
    /// The time of the last message.
    pub(crate) activity: Activity,
    /// Tracks changes of the workspace files.
    pub(crate) files: FileChanges,
    pub(crate) tool_sets: ToolSets,
    /// The spending that counts against budgets.
    pub(crate) spending: SpendTracker,
    /// What the next turns of recent conversations will need.
    pub(crate) prefetched: PrefetchedInputs,
    /// The turns that run in this process.
    pub(crate) turns: RunningTurns,
    /// The workflow runs of this process.
    pub(crate) runs: Runs,
    /// The running firings of schedules.
    pub(crate) firings: RunningFirings,
    /// Allows one prompt build at a time.
    pub(crate) building: Arc<Semaphore>,
    /// Tracks failing prompt sources.
    pub(crate) sources: SourceMonitor,
    /// Allows one estimate at a time of those that build many prompts.
    estimate_permits: Arc<Semaphore>,
    /// Broadcasts the results of workspace reloads.
    pub(crate) reloads: broadcast::Sender<Reloaded>,
    /// The observer of all feeds.
    pub(crate) observer: ObserverSlot,
}

impl Shared {
    pub(crate) fn new(parts: Parts, lease: Duration, host: WeakAgent) -> Self {
        let Parts { workspace, store, recorder, events, models, tools, outside, node, clock_and_rng } = parts;
        let spending = SpendTracker::new(
            Arc::clone(&workspace),
            store.clone(),
            events.clone(),
            Arc::clone(&clock_and_rng),
        );
        let tools = tools.into_iter().map(|tool| (tool.name().to_owned(), tool)).collect();
        Self {
            workspace,
            store,
            recorder,
            events,
            models,
            tools,
            outside,
            host,
            node,
            clock_and_rng,
            lease,
            calibrations: Calibrations::default(),
            cache_diagnosis_worker: CacheDiagnosisWorker::default(),
            activity: Activity::default(),
            files: FileChanges::default(),
            tool_sets: ToolSets::default(),
            spending,
            prefetched: PrefetchedInputs::default(),
            turns: RunningTurns::default(),
            runs: Runs::default(),
            firings: RunningFirings::default(),
            building: Arc::new(Semaphore::new(1)),
            sources: SourceMonitor::default(),
            estimate_permits: Arc::new(Semaphore::new(1)),
            reloads: broadcast::Sender::new(16),
            observer: ObserverSlot::default(),
        }
    }

    /// The current external tools.
    pub(crate) fn outside_tools(&self) -> Arc<OutsideTools> {
        self.outside.as_ref().map_or_else(Arc::default, |outside| outside.now())
    }

    /// The built-in or external tool with this name.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned().or_else(|| self.outside_tools().tools.get(name).cloned())
    }

    /// As [`Shared::tool`]. If the tool reads the event log, flushes the event queue first.
    pub(crate) async fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tool = self.tool(name)?;
        if tool.reads_the_log() {
            // Continue with an incomplete log if the store does not respond.
            let _ = tokio::time::timeout(LOG_FLUSH_TIMEOUT, self.events.flush()).await;
        }
        Some(tool)
    }

    /// Acquires the permit for an estimate that builds many prompts. The work owns the permit, because it may outlive
    /// the request that started it.
    pub(crate) async fn acquire_estimate_permit(&self) -> Result<OwnedSemaphorePermit, AgentError> {
        Arc::clone(&self.estimate_permits).acquire_owned().await.map_err(|_| AgentError::Closed)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock_and_rng.timestamp()
    }

    pub(crate) fn log(&self, event: Event) {
        self.recorder.record(event);
    }
}
