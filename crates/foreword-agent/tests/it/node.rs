//! One agent in one process, on a workspace and a database that several may share. Every fixture is built on it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::agent::Agent;
use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::mcp::{McpEnvironment, Servers};
use foreword_agent::memory::Memory;
use foreword_agent::models::Models;
use foreword_agent::shared::{Parts, into_store};
use foreword_agent::tool::ToolSource;
use foreword_agent::tools::bash::BashSettings;
use foreword_agent::tools::{self, ToolSettings};
use foreword_core::backoff::Backoff;
use foreword_core::model::{Model, ModelError};
use foreword_core::models::ModelId;
use foreword_core::provider::{OFFLINE, Secret, Timeouts, WireDialect};
use foreword_observe::recorder::Recorder;
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_offline::OfflineModel;
use foreword_providers::HttpModel;
use foreword_store::events::{EventQueue, QueueConfig};
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_testkit::FakeProvider;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::{Environment, Workspace};
use jiff::Zoned;

/// What a test may choose about an agent beside its script.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) dialect: WireDialect,
    /// The provider timeouts.
    pub(crate) timeout: Duration,
    /// The lease.
    pub(crate) lease: Duration,
    /// The provider's key.
    pub(crate) key: Option<&'static str>,
    /// The agent's clock.
    pub(crate) clock: Arc<dyn ClockAndRng>,
    /// The node's name; `None` for a random one.
    pub(crate) name: Option<String>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            dialect: WireDialect::Anthropic,
            timeout: Duration::from_secs(20),
            lease: Duration::from_secs(30),
            key: None,
            clock: Arc::new(Machine),
            name: None,
        }
    }
}

impl Setting {
    pub(crate) fn lease(lease: Duration) -> Self {
        Self { lease, ..Self::default() }
    }

    /// The same for a node that starts this much later. It finds earlier leases expired without a wait.
    pub(crate) fn later(self, by: Duration) -> Self {
        Self { clock: Arc::new(Later(by)), ..self }
    }
}

/// The machine's clock, moved forward.
struct Later(Duration);

impl ClockAndRng for Later {
    fn now(&self) -> Zoned {
        Machine.now() + self.0
    }

    fn random(&self) -> u128 {
        Machine.random()
    }
}

/// A model behind a scripted provider, whatever its name.
struct Scripted(Arc<HttpModel>);

impl Models for Scripted {
    fn find(&self, id: &ModelId, _: &Config) -> Result<Arc<dyn Model>, ModelError> {
        if id.provider() == OFFLINE {
            return Ok(Arc::new(OfflineModel::default()));
        }
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }
}

/// An agent in one process.
pub(crate) struct Node {
    pub(crate) agent: Agent,
    pub(crate) store: Store,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) servers: Arc<Servers>,
    events: EventQueue,
}

impl Node {
    /// Waits until its events are written.
    pub(crate) async fn flush(&self) {
        self.events.flush().await.unwrap();
    }

    pub(crate) async fn open(folder: &Path, provider: &FakeProvider, setting: Setting) -> Self {
        let location = Location::file(folder.join(".foreword/foreword.db"));
        Box::pin(Self::open_at(folder, provider, setting, &location)).await
    }

    /// The same on another database.
    pub(crate) async fn open_at(
        folder: &Path,
        provider: &FakeProvider,
        setting: Setting,
        location: &Location,
    ) -> Self {
        let workspace = Arc::new(Workspace::open(folder, Environment::default()).unwrap());
        let machine: &dyn ClockAndRng = &Machine;
        let store = Store::open(location, machine.timestamp()).await.unwrap();
        let clock: Arc<dyn Fn() -> _ + Send + Sync> = Arc::new(|| (&Machine as &dyn ClockAndRng).timestamp());
        let events = EventQueue::start(store.clone(), Arc::clone(&clock), QueueConfig::default());
        let mut row = provider.provider(setting.dialect);
        row.timeouts =
            Timeouts { connect: setting.timeout, first_byte: setting.timeout, idle: setting.timeout };
        let model = HttpModel::new(row, setting.key.map(Secret::new), clock).unwrap();
        let servers = servers(&workspace, &events);
        let parts = Parts {
            workspace: Arc::clone(&workspace),
            store: store.clone(),
            recorder: recorder(&events),
            events: events.clone(),
            models: Arc::new(Scripted(Arc::new(model))),
            tools: [tools::builtin(ToolSettings::default()), tools::memory(Memory::new(store.clone()))]
                .concat(),
            outside: Some(Arc::clone(&servers) as Arc<dyn ToolSource>),
            node: setting.name.map_or_else(|| machine.id("node"), TryInto::try_into).unwrap(),
            clock_and_rng: setting.clock,
        };
        Self { agent: Agent::with_lease(parts, setting.lease), store, workspace, servers, events }
    }
}

/// The event queue into the store.
fn recorder(events: &EventQueue) -> Recorder {
    let redactor = Redactor::new(&RedactionRules::default(), [7; 16]).unwrap();
    Recorder::to_sink(redactor, into_store(events))
}

/// The servers of tools that the configuration names, started again without much delay.
fn servers(workspace: &Workspace, events: &EventQueue) -> Arc<Servers> {
    let recorder = recorder(events);
    let world = McpEnvironment {
        directory: workspace.directory().to_owned(),
        environment: BashSettings::default().with_environment(std::env::vars()).environment,
        variable: Arc::new(|name| (name == "TEST_TOKEN").then(|| "open-sesame".to_owned())),
        log: Arc::new(move |event| recorder.record(event)),
        clock_and_rng: Arc::new(Machine),
        backoff: Backoff { first: Duration::from_millis(20), max: Duration::from_millis(200) },
    };
    Servers::start(world, &workspace.snapshot().config.mcp)
}
