//! A whole agent for tests: a workspace on disk, a database, the built-in tools, and models reached over real HTTP from
//! a provider that follows a script.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::agent::{Agent, Receipt};
use foreword_agent::feed::Progress;
use foreword_agent::inbound::{Inbound, Occasion, Watched};
use foreword_agent::mcp::{McpWorld, Servers};
use foreword_agent::memory::Memory;
use foreword_agent::models::Models;
use foreword_agent::shared::{Parts, into_store};
use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_agent::tool::ToolSource;
use foreword_agent::tools::bash::BashSettings;
use foreword_agent::tools::{self, ToolSettings};
use foreword_core::event::StoredEvent;
use foreword_core::id::ConversationId;
use foreword_core::model::{Model, ModelError};
use foreword_core::models::ModelId;
use foreword_core::provider::{OFFLINE, Secret, Timeouts, WireDialect};
use foreword_core::retry::RetryPolicy;
use foreword_core::turn_journal::Outcome;
use foreword_observe::recorder::Recorder;
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_prompt::trust::Trust;
use foreword_providers::HttpModel;
use foreword_providers::offline::OfflineModel;
use foreword_store::events::{EventFilter, EventPage, EventQueue, QueueConfig};
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_testkit::{FakeProvider, Script};
use foreword_workspace::config::Config;
use foreword_workspace::workspace::{Environment, Workspace};

/// The people and the patience of every test; a provider's delays are short, its rules are the real ones.
pub(crate) const CONFIG: &str = "\
agent: { name: Ada, model: anthropic/claude-haiku-4-5 }
users:
  - { name: alice, trust: full, match: [\"terminal:default\", \"signal:alice\"] }
  - { name: bob, trust: inner, match: [\"signal:bob\"] }
  - { name: carol, trust: familiar, match: [\"signal:carol\"] }
retry: { base_delay_ms: 20, max_delay_ms: 100, requeue: { delay_ms: 50, max_delay_ms: 100 } }
";

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

/// An agent and its world.
pub(crate) struct Scene {
    pub(crate) agent: Agent,
    pub(crate) store: Store,
    pub(crate) provider: FakeProvider,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) servers: Arc<Servers>,
    events: EventQueue,
    pub(crate) folder: tempfile::TempDir,
}

/// What a test may choose about an agent beside its script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) dialect: WireDialect,
    /// How long the provider is waited for.
    pub(crate) patience: Duration,
    /// How long a node may be silent.
    pub(crate) lease: Duration,
    /// The provider's key.
    pub(crate) key: Option<&'static str>,
}

impl Default for Setting {
    fn default() -> Self {
        let (patience, lease) = (Duration::from_secs(20), Duration::from_secs(30));
        Self { dialect: WireDialect::Anthropic, patience, lease, key: None }
    }
}

/// An agent as one process has it.
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
        Self::open_at(folder, provider, setting, &location).await
    }

    /// The same on another database.
    pub(crate) async fn open_at(
        folder: &Path,
        provider: &FakeProvider,
        setting: Setting,
        location: &Location,
    ) -> Self {
        let workspace = Arc::new(Workspace::open(folder, Environment::default()).unwrap());
        let surroundings: Arc<dyn Surroundings> = Arc::new(Machine);
        let store = Store::open(location, surroundings.timestamp()).await.unwrap();
        let clock = Arc::clone(&surroundings);
        let clock: Arc<dyn Fn() -> _ + Send + Sync> = Arc::new(move || clock.timestamp());
        let events = EventQueue::start(store.clone(), Arc::clone(&clock), QueueConfig::default());
        let mut row = provider.provider(setting.dialect);
        row.timeouts =
            Timeouts { connect: setting.patience, first_byte: setting.patience, idle: setting.patience };
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
            node: surroundings.id("node").unwrap(),
            surroundings,
        };
        Self { agent: Agent::with_lease(parts, setting.lease), store, workspace, servers, events }
    }
}

/// The usual way of events into the store.
pub(crate) fn recorder(events: &EventQueue) -> Recorder {
    let redactor = Redactor::new(&RedactionRules::default(), [7; 16]).unwrap();
    Recorder::to_sink(redactor, into_store(events))
}

/// The servers of tools that the configuration names, started again without much delay.
fn servers(workspace: &Workspace, events: &EventQueue) -> Arc<Servers> {
    let recorder = recorder(events);
    let (base_delay, max_delay) = (Duration::from_millis(20), Duration::from_millis(200));
    let world = McpWorld {
        directory: workspace.directory().to_owned(),
        environment: BashSettings::default().with_environment(std::env::vars()).environment,
        variable: Arc::new(|name| (name == "SCENE_TOKEN").then(|| "open-sesame".to_owned())),
        log: Arc::new(move |event| recorder.record(event)),
        surroundings: Arc::new(Machine),
        backoff: RetryPolicy { base_delay, max_delay, ..RetryPolicy::default() },
    };
    Servers::start(world, &workspace.snapshot().config.mcp)
}

/// The usual configuration with more lines; a line with the same key as one of them gives way.
pub(crate) fn configuration(more: &str) -> String {
    let key = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let given = |line: &str| !line.starts_with(' ') && more.lines().any(|more| key(more) == key(line));
    let kept = CONFIG.lines().filter(|line| !given(line)).map(|line| format!("{line}\n"));
    kept.chain([more.to_owned()]).collect()
}

/// A workspace with something in it, and more lines for its `foreword.yaml`.
fn furnished(more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("foreword.yaml"), configuration(more)).unwrap();
    std::fs::write(folder.path().join("SOUL.md"), "You are kind.").unwrap();
    for (path, text) in [
        ("private/people.md", "# People\n\nCarol: birthday 14 March, loves peonies.\n"),
        ("social/people.md", "# People\n\nCarol lives at number 7.\n"),
    ] {
        let path = folder.path().join("memory").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// What was seen of a turn.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) progress: Vec<Arc<Progress>>,
}

impl Scene {
    /// An agent whose provider speaks Anthropic's dialect and follows `script`.
    pub(crate) async fn new(script: impl Into<Script>) -> Self {
        Self::with(script, WireDialect::Anthropic, "").await
    }

    /// The same with another dialect, and more lines for `foreword.yaml`.
    pub(crate) async fn with(script: impl Into<Script>, dialect: WireDialect, more: &str) -> Self {
        Self::set(script, Setting { dialect, ..Setting::default() }, more).await
    }

    /// The same with everything a test may choose.
    pub(crate) async fn set(script: impl Into<Script>, setting: Setting, more: &str) -> Self {
        Self::in_setting(furnished(more), FakeProvider::start(script).unwrap(), setting).await
    }

    /// An agent in a folder that is there already.
    pub(crate) async fn with_key(
        folder: tempfile::TempDir,
        provider: FakeProvider,
        dialect: WireDialect,
        key: &'static str,
    ) -> Self {
        let key = Some(key);
        Self::in_setting(folder, provider, Setting { dialect, key, ..Setting::default() }).await
    }

    async fn in_setting(folder: tempfile::TempDir, provider: FakeProvider, setting: Setting) -> Self {
        let Node { agent, store, workspace, servers, events } =
            Node::open(folder.path(), &provider, setting).await;
        Self { agent, store, provider, workspace, servers, events, folder }
    }

    /// Another process on the same workspace and the same database.
    pub(crate) async fn another(&self, setting: Setting) -> Node {
        Node::open(self.folder.path(), &self.provider, setting).await
    }

    /// Says something as whoever `occasion` says, and waits for the answer.
    pub(crate) async fn say(&self, conversation: &str, occasion: Occasion, text: &str) -> Seen {
        let receipt = self.send(conversation, occasion, text).await;
        self.follow(receipt).await
    }

    /// Everything up to the end of the turn that answers `receipt`.
    pub(crate) async fn follow(&self, receipt: Receipt) -> Seen {
        follow(receipt).await
    }

    pub(crate) async fn send(&self, conversation: &str, occasion: Occasion, text: &str) -> Receipt {
        let conversation = ConversationId::new(conversation).unwrap();
        self.agent.send(Inbound { conversation, occasion, text: text.to_owned(), key: None }).await.unwrap()
    }

    /// All events so far, the oldest first.
    pub(crate) async fn log(&self) -> Vec<StoredEvent> {
        self.agent.settled().await;
        self.events.flush().await.unwrap();
        let mut events = self.store.events(&EventFilter::default(), &EventPage::newest(1_000)).await.unwrap();
        events.reverse();
        events
    }

    /// The names of all events so far.
    pub(crate) async fn event_names(&self) -> Vec<String> {
        self.log().await.iter().map(|event| event.event.event_type.to_string()).collect()
    }
}

/// Everything up to the end of the turn that answers `receipt`.
pub(crate) async fn follow(receipt: Receipt) -> Seen {
    let (mut next, mut seen, mut own) = (receipt.from, Seen::default(), None);
    let message = &receipt.message.message.id;
    loop {
        let read = tokio::time::timeout(Duration::from_secs(60), receipt.feed.read(next));
        let batch = read.await.unwrap_or_else(|_| panic!("nothing happens after {seen:?}"));
        next = batch.next;
        for item in batch.items {
            seen.progress.push(Arc::clone(&item));
            match &*item {
                Progress::TurnStarted { turn, messages, .. } if messages.contains(message) => {
                    own = Some(turn.clone())
                }
                Progress::TurnEnded { turn, .. } if own.as_ref() == Some(turn) => return seen,
                _ => {}
            }
        }
    }
}

impl Seen {
    /// The words that were shown.
    pub(crate) fn words(&self) -> String {
        let words = self.progress.iter().filter_map(|item| match &**item {
            Progress::Text(words) => Some(words.as_str()),
            _ => None,
        });
        words.collect()
    }

    /// The status lines that were shown.
    pub(crate) fn statuses(&self) -> Vec<&str> {
        let statuses = self.progress.iter().filter_map(|item| match &**item {
            Progress::Status(status) => Some(status.as_str()),
            _ => None,
        });
        statuses.collect()
    }

    /// How the turn ended, and with which error.
    pub(crate) fn ending(&self) -> (Outcome, Option<String>) {
        match self.progress.last().map(|last| &**last) {
            Some(Progress::TurnEnded { outcome, failure, .. }) => {
                (*outcome, failure.as_ref().map(|failure| failure.detail.for_record().clone()))
            }
            other => panic!("the turn has not ended: {other:?}"),
        }
    }

    /// How the turn ended, and what a reader of `trust` reads of it.
    pub(crate) fn shown_ending(&self, trust: Trust) -> (Outcome, Option<String>) {
        match self.progress.last().map(|last| &**last) {
            Some(Progress::TurnEnded { turn, outcome, failure, .. }) => {
                let shown = failure.as_ref().map(|failure| failure.shown_at(trust, turn.as_str()).message);
                (*outcome, shown)
            }
            other => panic!("the turn has not ended: {other:?}"),
        }
    }

    /// What tools gave, with their names and whether they failed.
    pub(crate) fn results(&self) -> Vec<(&str, &str, bool)> {
        let results = self.progress.iter().filter_map(|item| match &**item {
            Progress::ToolResult { tool, content, is_error, .. } => {
                Some((tool.as_str(), content.as_str(), *is_error))
            }
            _ => None,
        });
        results.collect()
    }
}

/// Alice, the owner, at the terminal.
pub(crate) fn alice() -> Occasion {
    Occasion::default()
}

/// Somebody on a channel of their own.
pub(crate) fn on(channel: &str) -> Occasion {
    Occasion { channel: Some(foreword_prompt::occasion::Channel::new(channel)), ..Occasion::default() }
}

/// The same in the group.
pub(crate) fn in_group(channel: &str) -> Occasion {
    Occasion { situation: Some("group".into()), ..on(channel) }
}

/// The same where nobody looks on.
pub(crate) fn unwatched(occasion: Occasion) -> Occasion {
    Occasion { watched: Watched::ByNobody, ..occasion }
}
