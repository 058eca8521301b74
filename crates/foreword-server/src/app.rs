//! What every request can reach.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foreword_agent::agent::Agent;
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

use crate::auth::keeper::TokenKeeper;
use crate::proxy::record::Recording;
use crate::proxy::{KeptWords, Upstreams};

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
}

/// Secrets out of the environment, which only the binary reads.
pub trait Secrets: Send + Sync {
    /// The value of a variable, if it has one.
    fn variable(&self, name: &str) -> Option<Secret>;
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
    pub(crate) recording: Recording,
    pub(crate) upstreams: Upstreams,
    pub(crate) kept_words: KeptWords,
    stopping: AtomicBool,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    pub(crate) fn new(parts: ServerParts) -> Self {
        let ServerParts { agent, workspace, store, recorder, events, metrics, surroundings, node, secrets } =
            parts;
        let tokens = TokenKeeper::new(store.clone(), Arc::clone(&surroundings));
        let stopping = AtomicBool::new(false);
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
            recording: Recording::default(),
            upstreams: Upstreams::default(),
            kept_words: KeptWords::default(),
            stopping,
        }))
    }

    /// The configuration that is in force.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.workspace.snapshot().config)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.surroundings.timestamp()
    }

    /// Whether it has been told to stop: what is under way goes on, and nothing new is sent here.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}
