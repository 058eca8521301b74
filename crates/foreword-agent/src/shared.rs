//! What all conversations of an agent share.

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
use crate::cache_watch::CacheWatch;
use crate::calibrations::Calibrations;
use crate::error::AgentError;
use crate::failing_sources::SourceMonitor;
use crate::feed::OnlookerPlace;
use crate::models::Models;
use crate::purse::Purse;
use crate::schedules::AtWork;
use crate::surroundings::Surroundings;
use crate::tool::{OutsideTools, Tool, ToolSource};
use crate::tool_sets::ToolSets;
use crate::under_way::UnderWay;
use crate::watching::{Activity, FileChanges, Reloaded};
use crate::workflows::Runs;

/// How long a node may be silent before its turn is thought cut off.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// How often a turn may be begun, the first time included, before it is thought to be what kills its nodes.
pub(crate) const ATTEMPTS: u32 = 3;

/// How long is waited for the log to be written before it is read.
pub(crate) const LOG_PATIENCE: Duration = Duration::from_secs(1);

/// What an agent is made of.
pub struct Parts {
    /// The workspace.
    pub workspace: Arc<Workspace>,
    /// What lasts.
    pub store: Store,
    /// Where events go.
    pub recorder: Recorder,
    /// The queue in front of the stored ones, to wait for what was recorded.
    pub events: EventQueue,
    /// Who answers.
    pub models: Arc<dyn Models>,
    /// What it can do.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What it can do besides, with the help of others.
    pub outside: Option<Arc<dyn ToolSource>>,
    /// This process.
    pub node: NodeId,
    /// The time and chance.
    pub surroundings: Arc<dyn Surroundings>,
}

/// The sink that puts events into the queue in front of the store.
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

/// The same, as conversations use it.
pub(crate) struct Shared {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Store,
    pub(crate) recorder: Recorder,
    pub(crate) events: EventQueue,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tools: BTreeMap<String, Arc<dyn Tool>>,
    pub(crate) outside: Option<Arc<dyn ToolSource>>,
    /// The agent all this belongs to.
    pub(crate) host: WeakAgent,
    pub(crate) node: NodeId,
    pub(crate) surroundings: Arc<dyn Surroundings>,
    pub(crate) lease: Duration,
    pub(crate) calibrations: Calibrations,
    pub(crate) cache_watch: CacheWatch,
    /// When somebody last said something.
    pub(crate) activity: Activity,
    /// What is known of the workspace's files.
    pub(crate) files: FileChanges,
    pub(crate) tool_sets: ToolSets,
    /// What is spent, where that is limited.
    pub(crate) purse: Purse,
    /// The turns that run here.
    pub(crate) turns: UnderWay,
    /// The workflows at work.
    pub(crate) runs: Runs,
    /// The firings of schedules at work.
    pub(crate) firings: AtWork,
    /// Held while a prompt is made.
    pub(crate) building: Arc<Semaphore>,
    /// Which prompt sources fail.
    pub(crate) sources: SourceMonitor,
    /// Held while something is worked out that makes many prompts to see what they cost.
    weighing: Arc<Semaphore>,
    /// What became of the workspace's files, for whoever wants to know.
    pub(crate) reloads: broadcast::Sender<Reloaded>,
    /// Who sees what happens in all conversations.
    pub(crate) onlooker: OnlookerPlace,
}

impl Shared {
    pub(crate) fn new(parts: Parts, lease: Duration, host: WeakAgent) -> Self {
        let Parts { workspace, store, recorder, events, models, tools, outside, node, surroundings } = parts;
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
            surroundings,
            lease,
            calibrations: Calibrations::default(),
            cache_watch: CacheWatch::default(),
            activity: Activity::default(),
            files: FileChanges::default(),
            tool_sets: ToolSets::default(),
            purse: Purse::default(),
            turns: UnderWay::default(),
            runs: Runs::default(),
            firings: AtWork::default(),
            building: Arc::new(Semaphore::new(1)),
            sources: SourceMonitor::default(),
            weighing: Arc::new(Semaphore::new(1)),
            reloads: broadcast::Sender::new(16),
            onlooker: OnlookerPlace::default(),
        }
    }

    /// The tools that are not part of the program, as they are now.
    pub(crate) fn outside_tools(&self) -> Arc<OutsideTools> {
        self.outside.as_ref().map_or_else(Arc::default, |outside| outside.now())
    }

    /// The tool of that name, wherever it is from.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned().or_else(|| self.outside_tools().tools.get(name).cloned())
    }

    /// The same, once it finds what it reads: whoever asks what just happened means this very moment.
    pub(crate) async fn tool_at_hand(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tool = self.tool(name)?;
        if tool.reads_the_log() {
            // A database that is away is no reason to wait for it here.
            let _ = tokio::time::timeout(LOG_PATIENCE, self.events.flush()).await;
        }
        Some(tool)
    }

    /// Waits until nobody else works out what prompts cost; the permit goes along to where the work is done, which may last longer
    /// than whoever asked for it waits.
    pub(crate) async fn weighing(&self) -> Result<OwnedSemaphorePermit, AgentError> {
        Arc::clone(&self.weighing).acquire_owned().await.map_err(|_| AgentError::Closed)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.surroundings.timestamp()
    }

    pub(crate) fn log(&self, event: Event) {
        self.recorder.record(event);
    }
}
