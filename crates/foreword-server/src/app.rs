//! The state shared by all request handlers.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use foreword_agent::agent::Agent;
use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_agent::memory::Memory;
use foreword_core::id::NodeId;
use foreword_core::provider::Secret;
use foreword_core::timestamp::Timestamp;
use foreword_observe::metrics::Metrics;
use foreword_observe::recorder::Recorder;
use foreword_store::events::EventQueue;
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use crate::auth::PageLinks;
use crate::auth::limits::Limits;
use crate::auth::token_cache::TokenCache;
use crate::live::Live;
use crate::middleware::traffic::Traffic;
use crate::operations::health::WriteProbe;
use crate::overhead::Overhead;
use crate::page::PageFiles;
use crate::proxy::PromptCache;
use crate::proxy::record::Recording;

/// The parts a server is built from.
pub struct ServerParts {
    /// The agent that answers.
    pub agent: Agent,
    /// The workspace with configuration and prompt files.
    pub workspace: Arc<Workspace>,
    /// The database.
    pub store: Store,
    /// Records events.
    pub recorder: Recorder,
    /// The queue of events that wait to be stored.
    pub events: EventQueue,
    /// The metrics of the agent.
    pub metrics: Metrics,
    /// The clock and the random number generator.
    pub clock_and_rng: Arc<dyn ClockAndRng>,
    /// The id of this process.
    pub node: NodeId,
    /// Reads secrets from the environment variables that the configuration names.
    pub secrets: Arc<dyn Secrets>,
    /// A directory with the web page's files, for development; `None` uses the built-in files.
    pub page: Option<PathBuf>,
}

/// Secrets from the environment. Only the binary reads environment variables.
pub trait Secrets: Send + Sync {
    /// The value of a variable, if it is set.
    fn variable(&self, name: &str) -> Option<Secret>;
}

/// The lifecycle stage of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Interrupted work is being resumed.
    Starting,
    /// Requests are accepted.
    Ready,
    /// Running requests and turns are drained.
    Stopping,
}

/// The state shared by all request handlers. Clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) agent: Agent,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Store,
    pub(crate) recorder: Recorder,
    pub(crate) events: EventQueue,
    pub(crate) metrics: Metrics,
    pub(crate) clock_and_rng: Arc<dyn ClockAndRng>,
    pub(crate) node: NodeId,
    pub(crate) secrets: Arc<dyn Secrets>,
    pub(crate) tokens: TokenCache,
    pub(crate) page_links: PageLinks,
    pub(crate) page: PageFiles,
    /// The address the server listens on.
    pub(crate) address: SocketAddr,
    /// When the server started.
    pub(crate) started: Timestamp,
    pub(crate) recording: Recording,
    pub(crate) prompt_cache: PromptCache,
    pub(crate) limits: Limits,
    pub(crate) traffic: Traffic,
    pub(crate) overhead: Overhead,
    pub(crate) write_probe: WriteProbe,
    /// Notified when a failed delivery is to be retried.
    pub(crate) retry_deliveries: Notify,
    stage: watch::Sender<Stage>,
    pub(crate) memory: Memory,
    pub(crate) live: Live,
    /// Runs everything but connections and requests to drop-in endpoints.
    pub(crate) runtime: Handle,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    pub(crate) fn new(parts: ServerParts, address: SocketAddr) -> Self {
        let ServerParts {
            agent,
            workspace,
            store,
            recorder,
            events,
            metrics,
            clock_and_rng,
            node,
            secrets,
            page,
        } = parts;
        let tokens = TokenCache::new(store.clone(), Arc::clone(&clock_and_rng));
        let started = clock_and_rng.timestamp();
        let memory = Memory::new(store.clone());
        let live =
            Live::new(&agent, &store, &clock_and_rng, workspace.snapshot().config.server.limits.connections);
        let limits = Limits::new(Arc::clone(agent.spending().tokens()));
        Self(Arc::new(Inner {
            agent,
            workspace,
            store,
            recorder,
            events,
            metrics,
            clock_and_rng,
            node,
            secrets,
            tokens,
            page_links: PageLinks::default(),
            page: PageFiles::of(page),
            address,
            started,
            recording: Recording::default(),
            prompt_cache: PromptCache::default(),
            limits,
            traffic: Traffic::default(),
            overhead: Overhead::default(),
            write_probe: WriteProbe::default(),
            retry_deliveries: Notify::new(),
            stage: watch::Sender::new(Stage::Starting),
            memory,
            live,
            runtime: Handle::current(),
        }))
    }

    /// The current configuration.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.workspace.snapshot().config)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock_and_rng.timestamp()
    }

    pub(crate) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Whether the server is draining: running work continues, new requests are refused.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stage() == Stage::Stopping
    }

    /// Waits until the server starts to drain.
    pub(crate) async fn until_stopping(&self) {
        // `self` owns the sender, so the channel can't be closed.
        let _ = self.stage.subscribe().wait_for(|stage| *stage == Stage::Stopping).await;
    }

    /// Marks the server as ready. Has no effect while it drains.
    pub(crate) fn ready(&self) {
        self.stage.send_if_modified(|stage| {
            let starting = *stage == Stage::Starting;
            if starting {
                *stage = Stage::Ready;
            }
            starting
        });
    }

    pub(crate) fn start_draining(&self) {
        self.stage.send_replace(Stage::Stopping);
        self.live.stop();
    }
}
