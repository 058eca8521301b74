//! What every request can reach.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use foreword_agent::agent::Agent;
use foreword_agent::memory::Memory;
use foreword_agent::surroundings::Surroundings;
use foreword_core::id::NodeId;
use foreword_core::provider::Secret;
use foreword_core::timestamp::Timestamp;
use foreword_observe::metrics::Metrics;
use foreword_observe::recorder::Recorder;
use foreword_store::events::EventQueue;
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;
use tokio::sync::{Notify, watch};

use crate::auth::PageLinks;
use crate::auth::keeper::TokenKeeper;
use crate::auth::limits::Limits;
use crate::health::WriteProbe;
use crate::live::Live;
use crate::overhead::Overhead;
use crate::page::PageFiles;
use crate::proxy::record::Recording;
use crate::proxy::{Budgets, KeptWords, Upstreams};
use crate::traffic::Traffic;

/// What a server is made of.
pub struct ServerParts {
    /// Who answers.
    pub agent: Agent,
    /// The workspace.
    pub workspace: Arc<Workspace>,
    /// What lasts.
    pub store: Store,
    /// Where events go.
    pub recorder: Recorder,
    /// The queue in front of the stored ones.
    pub events: EventQueue,
    /// What is counted.
    pub metrics: Metrics,
    /// The time and chance.
    pub surroundings: Arc<dyn Surroundings>,
    /// This process.
    pub node: NodeId,
    /// What the environment holds for those whom the configuration names.
    pub secrets: Arc<dyn Secrets>,
    /// A folder with the files of the page, for whoever works on them; `None` for those built in.
    pub page: Option<PathBuf>,
}

/// Secrets out of the environment, which only the binary reads.
pub trait Secrets: Send + Sync {
    /// The value of a variable, if it has one.
    fn variable(&self, name: &str) -> Option<Secret>;
}

/// How far a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// What others have left is being taken up.
    Starting,
    /// It takes what comes.
    Ready,
    /// It finishes what is under way.
    Stopping,
}

/// What every request can reach. Clones are the same.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) agent: Agent,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Store,
    pub(crate) recorder: Recorder,
    pub(crate) events: EventQueue,
    pub(crate) metrics: Metrics,
    pub(crate) surroundings: Arc<dyn Surroundings>,
    pub(crate) node: NodeId,
    pub(crate) secrets: Arc<dyn Secrets>,
    pub(crate) tokens: TokenKeeper,
    pub(crate) page_links: PageLinks,
    pub(crate) page: PageFiles,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Since when.
    pub(crate) started: Timestamp,
    pub(crate) recording: Recording,
    pub(crate) upstreams: Upstreams,
    pub(crate) kept_words: KeptWords,
    pub(crate) budgets: Budgets,
    pub(crate) limits: Arc<Limits>,
    pub(crate) traffic: Traffic,
    pub(crate) overhead: Overhead,
    pub(crate) write_probe: WriteProbe,
    /// Told when an answer that was given up is to be sent again.
    pub(crate) retry_deliveries: Notify,
    stage: watch::Sender<Stage>,
    pub(crate) memory: Memory,
    pub(crate) live: Live,
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
            surroundings,
            node,
            secrets,
            page,
        } = parts;
        let tokens = TokenKeeper::new(store.clone(), Arc::clone(&surroundings));
        let started = surroundings.timestamp();
        let memory = Memory::new(store.clone());
        let live =
            Live::new(&agent, &store, &surroundings, workspace.snapshot().config.server.limits.connections);
        let limits = Arc::new(Limits::new(store.clone(), Arc::clone(&surroundings)));
        Self(Arc::new(Inner {
            agent,
            workspace,
            store,
            recorder,
            events,
            metrics,
            surroundings,
            node,
            secrets,
            tokens,
            page_links: PageLinks::default(),
            page: PageFiles::of(page),
            address,
            started,
            recording: Recording::default(),
            upstreams: Upstreams::default(),
            kept_words: KeptWords::default(),
            budgets: Budgets::default(),
            limits,
            traffic: Traffic::default(),
            overhead: Overhead::default(),
            write_probe: WriteProbe::default(),
            retry_deliveries: Notify::new(),
            stage: watch::Sender::new(Stage::Starting),
            memory,
            live,
        }))
    }

    /// The configuration that is in force.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.workspace.snapshot().config)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.surroundings.timestamp()
    }

    /// How far it is.
    pub(crate) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Whether it has been told to stop: what is under way goes on, and nothing new is sent here.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stage() == Stage::Stopping
    }

    /// Waits until it has been told to stop.
    pub(crate) async fn until_stopping(&self) {
        // The sender is here: it can't be gone.
        let _ = self.stage.subscribe().wait_for(|stage| *stage == Stage::Stopping).await;
    }

    /// Notes that what was left by others is taken up. One that is stopping stays so.
    pub(crate) fn ready(&self) {
        self.stage.send_if_modified(|stage| {
            let starting = *stage == Stage::Starting;
            if starting {
                *stage = Stage::Ready;
            }
            starting
        });
    }

    pub(crate) fn stop(&self) {
        self.stage.send_replace(Stage::Stopping);
        self.live.stop();
    }
}
