//! An agent at work in this process: workspace, store, events, models and tools put together, and let go of in order.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreword_agent::agent::Agent;
use foreword_agent::mcp::Servers;
use foreword_agent::memory::Memory;
use foreword_agent::shared::Parts;
use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_agent::tool::ToolSource;
use foreword_agent::tools::bash::BashSettings;
use foreword_agent::tools::{self, ToolSettings};
use foreword_agent::watching::Reloaded;
use foreword_core::event::Event;
use foreword_core::id::NodeId;
use foreword_core::provider::Secret;
use foreword_core::timestamp::Timestamp;
use foreword_server::server::{Secrets, ServerParts};
use foreword_store::events::{EventQueue, QueueConfig, RetentionConfig};
use foreword_store::store::Store;
use foreword_workspace::workspace::Workspace;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;

use crate::failure::Failure;
use crate::models::Registry;
use crate::observing::{Observing, Screen};
use crate::store_watch;
use crate::stored::location;
use crate::telemetry::Telemetry;
use crate::tool_servers::{self, ToolServers};
use crate::world::World;

/// An agent at work.
pub(crate) struct Running {
    pub(crate) agent: Agent,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Store,
    /// Reports failures of the store.
    store_watch: AbortHandle,
    /// Where more tools come from.
    servers: Arc<Servers>,
    events: EventQueue,
    telemetry: Telemetry,
    observing: Arc<Observing>,
    reloads: Mutex<broadcast::Receiver<Reloaded>>,
    surroundings: Arc<dyn Surroundings>,
    node: NodeId,
    runtime: Runtime,
}

impl Running {
    /// Puts the agent of the workspace together. What happens is in the log file; standard output is the command's.
    pub(crate) fn start(world: &World) -> Result<Self, Failure> {
        Self::start_in(Arc::new(world.open()?), world, Screen::Nothing)
    }

    /// The same, with what happens on standard output too.
    pub(crate) fn start_in(
        workspace: Arc<Workspace>,
        world: &World,
        screen: Screen,
    ) -> Result<Self, Failure> {
        Self::put_together(workspace, world, screen, ToolServers::Started)
    }

    /// The same for those who use what the agent has and don't talk to it. No server of tools is started: one of them may be
    /// this very program, which would start itself without end.
    pub(crate) fn start_for_visitors(world: &World) -> Result<Self, Failure> {
        Self::put_together(Arc::new(world.open()?), world, Screen::Nothing, ToolServers::LeftOut)
    }

    fn put_together(
        workspace: Arc<Workspace>,
        world: &World,
        screen: Screen,
        tool_servers: ToolServers,
    ) -> Result<Self, Failure> {
        world.require_workspace()?;
        let runtime = runtime()?;
        let location = location(&workspace, world)?;
        let surroundings: Arc<dyn Surroundings> = Arc::new(Machine);
        let store = runtime.block_on(Store::open(&location, surroundings.timestamp()))?;
        let config = Arc::clone(&workspace.snapshot().config);
        for agent in config.everybody() {
            runtime.block_on(store.sync_defaults(&agent.blueprint, surroundings.timestamp()))?;
        }
        let clock = Arc::clone(&surroundings);
        let retention = RetentionConfig { days: config.event_days, ..RetentionConfig::default() };
        let queue = QueueConfig { retention: Some(retention), ..QueueConfig::default() };
        let events = runtime
            .block_on(async { EventQueue::start(store.clone(), Arc::new(move || clock.timestamp()), queue) });
        let node = node(&surroundings)?;
        // On a file system without locks leases alone say who lives.
        let _ = store.hold_node(&node);
        let bash = BashSettings::default().with_environment(std::env::vars());
        let settings = ToolSettings { bash, ..ToolSettings::default() };
        let telemetry = Telemetry::new(&workspace)?;
        let place = (&*config, world.directory());
        let observing = Arc::new(Observing::start(place, screen, (&events, &telemetry), &surroundings)?);
        runtime.block_on(async { telemetry.start(&observing, &events, &store) });
        let log = observing.recorder.clone();
        let log = Arc::new(move |event| log.record(event));
        let servers = runtime.block_on(async { tool_servers::start(&workspace, tool_servers, log) });
        let parts = Parts {
            workspace: Arc::clone(&workspace),
            store: store.clone(),
            recorder: observing.recorder.clone(),
            events: events.clone(),
            models: Arc::new(Registry::new()),
            tools: [tools::builtin(settings), tools::memory(Memory::new(store.clone()))].concat(),
            outside: Some(Arc::clone(&servers) as Arc<dyn ToolSource>),
            node: node.clone(),
            surroundings: Arc::clone(&surroundings),
        };
        let agent = Agent::new(parts);
        let (store_watch, reloads) = runtime.block_on(async {
            if tool_servers == ToolServers::Started {
                servers.follow(Arc::clone(&workspace), agent.watch_workspace());
            }
            follow(Arc::clone(&observing), Arc::clone(&workspace), agent.watch_workspace());
            let watch = store_watch::start(&store, &node, &observing.recorder, &surroundings);
            (watch, Mutex::new(agent.watch_workspace()))
        });
        Ok(Self {
            agent,
            workspace,
            store,
            store_watch,
            servers,
            events,
            telemetry,
            observing,
            reloads,
            surroundings,
            node,
            runtime,
        })
    }

    /// What the future gives.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Keeps the file with the metrics up to date from now on, if there is to be one.
    pub(crate) fn keep_metrics(&self) {
        self.runtime.block_on(async { self.telemetry.keep_file() });
    }

    /// Puts into the log what was done beside the agent.
    pub(crate) fn record(&self, event: Event) {
        self.observing.recorder.record(event);
    }

    /// The time, as it is stored.
    pub(crate) fn now(&self) -> Timestamp {
        self.surroundings.timestamp()
    }

    /// What a server for this agent is made of.
    pub(crate) fn server_parts(&self) -> ServerParts {
        ServerParts {
            agent: self.agent.clone(),
            workspace: Arc::clone(&self.workspace),
            store: self.store.clone(),
            recorder: self.observing.recorder.clone(),
            events: self.events.clone(),
            metrics: self.telemetry.metrics().clone(),
            surroundings: Arc::clone(&self.surroundings),
            node: self.node.clone(),
            secrets: Arc::new(FromEnvironment),
            page: None,
        }
    }

    /// What became of the workspace's files since this was last asked.
    pub(crate) fn reloaded(&self) -> Vec<Reloaded> {
        let mut reloads = self.reloads.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| reloads.try_recv().ok()).collect()
    }

    /// Stops what runs, and writes what waits to be written.
    pub(crate) fn stop(self) {
        self.runtime.block_on(async {
            self.agent.shut_down().await;
            self.servers.stop().await;
            self.telemetry.stop().await;
            self.events.close().await;
            self.observing.stop();
            // From here on the store is closed, which is no failure.
            self.store_watch.abort();
            // What was acknowledged is durable with or without this.
            let _ = self.store.clone().close().await;
        });
        self.runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

/// The environment of this process.
struct FromEnvironment;

impl Secrets for FromEnvironment {
    fn variable(&self, name: &str) -> Option<Secret> {
        let value = std::env::var(name).ok()?;
        Some(value.trim()).filter(|value| !value.is_empty()).map(Secret::new)
    }
}

/// Tells the log of what is new in its section.
fn follow(observing: Arc<Observing>, workspace: Arc<Workspace>, mut reloads: broadcast::Receiver<Reloaded>) {
    tokio::spawn(async move {
        loop {
            match reloads.recv().await {
                Ok(Reloaded::Changed(sections)) if !sections.contains(&"logging") => {}
                Ok(Reloaded::Refused(_)) => {}
                // What was missed may have been this.
                Ok(Reloaded::Changed(_)) | Err(RecvError::Lagged(_)) => {
                    observing.reload(&workspace.snapshot().config.logging);
                }
                Err(RecvError::Closed) => return,
            }
        }
    });
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
        Failure::failed(format!("no runtime: {error}"), "check the operating system's limits")
    })
}

fn node(surroundings: &Arc<dyn Surroundings>) -> Result<NodeId, Failure> {
    let id = surroundings.id("node");
    id.map_err(|error| Failure::failed(format!("no name for this process: {error}"), "report this"))
}
