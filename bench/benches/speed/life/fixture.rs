//! An agent as the program builds it, on a given store, with the offline model.

use std::error::Error;
use std::sync::Arc;

use foreword_agent::agent::Agent;
use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_agent::memory::Memory;
use foreword_agent::models::Models;
use foreword_agent::shared::{Parts, into_store};
use foreword_agent::tools::{self, ToolSettings};
use foreword_core::model::{Model, ModelError};
use foreword_core::models::ModelId;
use foreword_observe::recorder::Recorder;
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_offline::OfflineModel;
use foreword_store::events::{EventQueue, QueueConfig};
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;

use crate::Outcome;

/// A provider that always returns the offline model.
struct Offline(Arc<OfflineModel>);

impl Models for Offline {
    fn find(&self, _: &ModelId, _: &Config) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }
}

/// An agent and its parts.
pub(crate) struct Life {
    pub(crate) agent: Agent,
    pub(crate) store: Store,
    pub(crate) events: EventQueue,
}

impl Life {
    pub(crate) async fn begin(
        workspace: Workspace,
        store: Store,
        clock_and_rng: Arc<dyn ClockAndRng>,
    ) -> Result<Self, Box<dyn Error>> {
        let workspace = Arc::new(workspace);
        for agent in workspace.snapshot().config.all_agents() {
            store.sync_defaults(&agent.blueprint, clock_and_rng.timestamp()).await?;
        }
        let clock = Arc::clone(&clock_and_rng);
        let clock = Arc::new(move || clock.timestamp());
        let events = EventQueue::start(store.clone(), clock, QueueConfig::default());
        let parts = Parts {
            workspace,
            store: store.clone(),
            recorder: Recorder::to_sink(
                Redactor::new(&RedactionRules::default(), [7; 16])?,
                into_store(&events),
            ),
            events: events.clone(),
            models: Arc::new(Offline(Arc::default())),
            tools: [tools::builtin(ToolSettings::default()), tools::memory(Memory::new(store.clone()))]
                .concat(),
            outside: None,
            node: clock_and_rng.id("node")?,
            clock_and_rng,
        };
        Ok(Self { agent: Agent::new(parts), store, events })
    }

    /// Shuts down. Fails if an event was lost.
    pub(crate) async fn end(self) -> Outcome {
        self.agent.shut_down().await;
        self.events.close().await;
        let dropped = self.events.dropped();
        self.store.close().await?;
        if dropped > 0 {
            return Err(format!("{dropped} events were dropped").into());
        }
        Ok(())
    }
}
