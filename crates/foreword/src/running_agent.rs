//! The agent of this process: starts workspace, store, events, models and tools, and shuts them down in order.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::agent::Agent;
use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::mcp::Servers;
use foreword_agent::memory::Memory;
use foreword_agent::prompt::workspace_reload::Reloaded;
use foreword_agent::shared::Parts;
use foreword_agent::tool::ToolSource;
use foreword_agent::tools::bash::BashSettings;
use foreword_agent::tools::{self, ToolSettings};
use foreword_core::event::Event;
use foreword_core::id::NodeId;
use foreword_core::provider::Secret;
use foreword_core::timestamp::Timestamp;
use foreword_server::server::{Secrets, ServerParts};
use foreword_store::events::{EventQueue, QueueConfig, RetentionConfig};
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;

use crate::failure::Failure;
use crate::logging::{Logging, LoggingParts, StdoutLog};
use crate::mcp_servers::{self, McpStartup};
use crate::migration_notice;
use crate::models::Registry;
use crate::process_context::ProcessContext;
use crate::store_watch;
use crate::telemetry::Telemetry;
use crate::workspace_store::location;

pub(crate) struct RunningAgent {
    pub(crate) agent: Agent,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Store,
    /// Reports failures of the store.
    store_watch: AbortHandle,
    /// The servers that provide more tools.
    servers: Arc<Servers>,
    events: EventQueue,
    telemetry: Telemetry,
    logging: Arc<Logging>,
    reloads: Mutex<broadcast::Receiver<Reloaded>>,
    clock_and_rng: Arc<dyn ClockAndRng>,
    node: NodeId,
    runtime: Runtime,
}

impl RunningAgent {
    /// Starts the agent of the workspace. Events go to the log file; standard output is left to the command.
    pub(crate) fn start(process: &ProcessContext) -> Result<Self, Failure> {
        Self::start_with_stdout_log(Arc::new(process.open()?), process, StdoutLog::Off)
    }

    /// Like `start`, but also logs to standard output.
    pub(crate) fn start_with_stdout_log(
        workspace: Arc<Workspace>,
        process: &ProcessContext,
        stdout: StdoutLog,
    ) -> Result<Self, Failure> {
        Self::assemble(workspace, process, stdout, McpStartup::Start)
    }

    /// Like `start`, but starts no tool servers: one of them may be this program, which would start itself without end.
    pub(crate) fn start_without_tool_servers(process: &ProcessContext) -> Result<Self, Failure> {
        Self::assemble(Arc::new(process.open()?), process, StdoutLog::Off, McpStartup::Skip)
    }

    fn assemble(
        workspace: Arc<Workspace>,
        process: &ProcessContext,
        stdout: StdoutLog,
        startup: McpStartup,
    ) -> Result<Self, Failure> {
        process.require_workspace()?;
        let runtime = runtime()?;
        let clock_and_rng: Arc<dyn ClockAndRng> = Arc::new(Machine);
        let config = Arc::clone(&workspace.snapshot().config);
        let location = location(&workspace, process)?;
        let store = runtime.block_on(open_store(&location, &config, clock_and_rng.timestamp()))?;
        // A directory that can't be written needs no record: its store is elsewhere.
        let _ = workspace.record_configured();
        let events = runtime.block_on(async { event_queue(&store, config.event_days, &clock_and_rng) });
        let node = node(&clock_and_rng)?;
        // Without file locks, leases alone show which nodes are alive.
        let _ = store.lock_node(&node);
        let telemetry = Telemetry::new(&workspace)?;
        let logging = Arc::new(Logging::start(LoggingParts {
            config: &config,
            folder: &process.directory(),
            stdout,
            events: &events,
            telemetry: &telemetry,
            clock_and_rng: Arc::clone(&clock_and_rng),
        })?);
        if let Some(event) = migration_notice::event(&store, clock_and_rng.timestamp()) {
            logging.recorder.record(event);
        }
        runtime.block_on(async { telemetry.start(&logging, &events, &store) });
        let log = logging.recorder.clone();
        let log = Arc::new(move |event| log.record(event));
        let servers = runtime.block_on(async { mcp_servers::start(&workspace, startup, log) });
        let parts = Parts {
            workspace: Arc::clone(&workspace),
            store: store.clone(),
            recorder: logging.recorder.clone(),
            events: events.clone(),
            models: Arc::new(Registry::new()),
            tools: [tools::builtin(tool_settings()), tools::memory(Memory::new(store.clone()))].concat(),
            outside: Some(Arc::clone(&servers) as Arc<dyn ToolSource>),
            node: node.clone(),
            clock_and_rng: Arc::clone(&clock_and_rng),
        };
        let agent = Agent::new(parts);
        let (store_watch, reloads) = runtime.block_on(async {
            if startup == McpStartup::Start {
                servers.follow(Arc::clone(&workspace), agent.watch_workspace());
            }
            follow(Arc::clone(&logging), Arc::clone(&workspace), agent.watch_workspace());
            let watch = store_watch::start(&store, &node, &logging.recorder, &clock_and_rng);
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
            logging,
            reloads,
            clock_and_rng,
            node,
            runtime,
        })
    }

    /// Blocks on `future`.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Starts writing the metrics file, if one is configured.
    pub(crate) fn keep_metrics(&self) {
        self.runtime.block_on(async { self.telemetry.keep_file() });
    }

    /// Records an event that happened outside the agent.
    pub(crate) fn record(&self, event: Event) {
        self.logging.recorder.record(event);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock_and_rng.timestamp()
    }

    /// The parts that a server for this agent needs.
    pub(crate) fn server_parts(&self) -> ServerParts {
        ServerParts {
            agent: self.agent.clone(),
            workspace: Arc::clone(&self.workspace),
            store: self.store.clone(),
            recorder: self.logging.recorder.clone(),
            events: self.events.clone(),
            metrics: self.telemetry.metrics().clone(),
            clock_and_rng: Arc::clone(&self.clock_and_rng),
            node: self.node.clone(),
            secrets: Arc::new(FromEnvironment),
            page: None,
        }
    }

    /// The reloads of workspace files since the last call.
    pub(crate) fn reloaded(&self) -> Vec<Reloaded> {
        let mut reloads = self.reloads.lock();
        std::iter::from_fn(|| reloads.try_recv().ok()).collect()
    }

    /// Shuts down gracefully: stops running work and flushes pending writes.
    pub(crate) fn stop(self) {
        self.runtime.block_on(async {
            self.agent.shut_down().await;
            self.servers.stop().await;
            self.telemetry.stop().await;
            self.events.close().await;
            self.logging.stop();
            // The store is closed next, which is not a failure to report.
            self.store_watch.abort();
            // Acknowledged writes are durable even if this fails.
            let _ = self.store.clone().close().await;
        });
        self.runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

/// Opens the store, migrates it if necessary, and stores the default texts of the configured agents.
async fn open_store(location: &Location, config: &Config, now: Timestamp) -> Result<Store, Failure> {
    let store = Store::open(location, now).await?;
    migration_notice::print(&store);
    for agent in config.all_agents() {
        store.sync_defaults(&agent.blueprint, now).await?;
    }
    Ok(store)
}

/// Reads secrets from the environment of this process.
struct FromEnvironment;

impl Secrets for FromEnvironment {
    fn variable(&self, name: &str) -> Option<Secret> {
        let value = std::env::var(name).ok()?;
        Some(value.trim()).filter(|value| !value.is_empty()).map(Secret::new)
    }
}

/// Applies changes of section `logging`.
fn follow(logging: Arc<Logging>, workspace: Arc<Workspace>, mut reloads: broadcast::Receiver<Reloaded>) {
    tokio::spawn(async move {
        loop {
            match reloads.recv().await {
                Ok(Reloaded::Changed(sections)) if !sections.contains(&"logging") => {}
                Ok(Reloaded::Refused(_)) => {}
                // The missed reloads may have changed section `logging`.
                Ok(Reloaded::Changed(_)) | Err(RecvError::Lagged(_)) => {
                    logging.reload(&workspace.snapshot().config.logging);
                }
                Err(RecvError::Closed) => return,
            }
        }
    });
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
        Failure::failed(format!("can't start the runtime: {error}"), "check the operating system's limits")
    })
}

fn node(clock_and_rng: &Arc<dyn ClockAndRng>) -> Result<NodeId, Failure> {
    let id = clock_and_rng.id("node");
    id.map_err(|error| {
        Failure::failed(format!("can't create an id for this process: {error}"), "report this bug")
    })
}

fn tool_settings() -> ToolSettings {
    let bash = BashSettings::default().with_environment(std::env::vars());
    ToolSettings { bash, ..ToolSettings::default() }
}

/// The queue of events in front of the store, which also removes events older than `days`.
fn event_queue(store: &Store, days: u32, clock_and_rng: &Arc<dyn ClockAndRng>) -> EventQueue {
    let clock = Arc::clone(clock_and_rng);
    let retention = RetentionConfig { days, ..RetentionConfig::default() };
    let queue = QueueConfig { retention: Some(retention), ..QueueConfig::default() };
    EventQueue::start(store.clone(), Arc::new(move || clock.timestamp()), queue)
}
