//! An agent with schedules, whose clock the test moves.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::agent::Agent;
use foreword_agent::models::Models;
use foreword_agent::schedules::Clockwork;
use foreword_agent::shared::Parts;
use foreword_agent::surroundings::Surroundings;
use foreword_agent::tools::{self, ToolSettings};
use foreword_core::event::StoredEvent;
use foreword_core::id::{ConversationId, NodeId};
use foreword_core::message::{Kind, Message, Role};
use foreword_core::model::{Model, ModelError};
use foreword_core::models::ModelId;
use foreword_core::provider::WireDialect;
use foreword_core::schedule::FiringOutcome;
use foreword_core::timestamp::Timestamp;
use foreword_providers::HttpModel;
use foreword_store::events::{EventFilter, EventPage, EventQueue, QueueConfig};
use foreword_store::location::Location;
use foreword_store::messages::MessagePage;
use foreword_store::schedules::{Firing, Schedule};
use foreword_store::store::Store;
use foreword_testkit::{FakeProvider, Script};
use foreword_workspace::config::Config;
use foreword_workspace::workspace::{Environment, Workspace};

use super::clock::MovedClock;
use crate::scene::{configuration, recorder};

/// How often the clockwork looks at the clock: the test moves it and does not want to wait.
pub(crate) const LOOK: Duration = Duration::from_millis(15);
/// Monday, nine o'clock in Berlin.
pub(crate) const MORNING: &str = "2026-11-16T08:00:00Z";

/// The same model, whatever its name.
pub(crate) struct Only(pub(crate) Arc<dyn Model>);

impl Models for Only {
    fn find(&self, _: &ModelId, _: &Config) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0))
    }
}

/// One process.
pub(crate) struct Node {
    pub(crate) agent: Agent,
    pub(crate) store: Store,
    events: EventQueue,
}

impl Node {
    pub(crate) async fn open(
        (folder, location): (&Path, &Location),
        clock: Arc<dyn Surroundings>,
        (node, lease): (NodeId, Duration),
        model: Arc<dyn Model>,
    ) -> Self {
        let workspace = Arc::new(Workspace::open(folder, Environment::default()).unwrap());
        let store = Store::open(location, clock.timestamp()).await.unwrap();
        let timestamp = Arc::clone(&clock);
        let events =
            EventQueue::start(store.clone(), Arc::new(move || timestamp.timestamp()), QueueConfig::default());
        let parts = Parts {
            workspace,
            store: store.clone(),
            recorder: recorder(&events),
            events: events.clone(),
            models: Arc::new(Only(model)),
            outside: None,
            tools: tools::builtin(ToolSettings::default()),
            node,
            surroundings: clock,
        };
        Self { agent: Agent::with_lease(parts, lease), store, events }
    }
}

/// An agent with schedules.
pub(crate) struct Stage {
    pub(crate) node: Node,
    pub(crate) provider: FakeProvider,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) clock: Arc<MovedClock>,
}

impl Stage {
    /// An agent with these schedules, one line each, at nine o'clock in the morning.
    pub(crate) async fn new(script: impl Into<Script>, schedules: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (provider, clock) = (FakeProvider::start(script).unwrap(), Arc::new(MovedClock::at(MORNING)));
        write(folder.path(), schedules);
        let node = open(&folder, &provider, &clock, "node-a").await;
        Self { node, provider, folder, clock }
    }

    /// Another process on the same workspace, database and clock.
    pub(crate) async fn another(&self, name: &str) -> Node {
        open(&self.folder, &self.provider, &self.clock, name).await
    }

    pub(crate) fn configure(&self, schedules: &[&str]) {
        write(self.folder.path(), schedules);
    }

    pub(crate) fn clockwork(&self) -> Clockwork {
        Clockwork::looking_every(&self.node.agent, LOOK)
    }

    /// What is stored of a schedule, once it is what the test waits for.
    pub(crate) async fn schedule(&self, name: &str, is: impl Fn(&Schedule) -> bool) -> Schedule {
        for _ in 0..4_000 {
            let all = self.node.store.schedules().await.unwrap();
            if let Some(found) = all.into_iter().find(|schedule| schedule.name == name && is(schedule)) {
                return found;
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("{name} never became so: {:?}", self.node.store.schedules().await.unwrap());
    }

    /// The firings of a schedule, the oldest first, once `count` of them have ended.
    pub(crate) async fn ended(&self, name: &str, count: usize) -> Vec<Firing> {
        for _ in 0..4_000 {
            let firings = self.firings(name).await;
            if firings.iter().filter(|firing| firing.ended_at.is_some()).count() >= count {
                return firings;
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("{name} has not fired {count} times: {:?}", self.firings(name).await);
    }

    pub(crate) async fn firings(&self, name: &str) -> Vec<Firing> {
        let mut firings = self.node.store.firings(name, 1_000).await.unwrap();
        firings.reverse();
        firings
    }

    /// Lets the clockwork look several times.
    pub(crate) async fn let_it_look(&self) {
        tokio::time::sleep(LOOK * 20).await;
    }

    /// What was said in a schedule's conversation by `role`.
    pub(crate) async fn said(&self, name: &str, role: Role) -> Vec<Message> {
        let conversation = ConversationId::new(format!("schedule-{name}")).unwrap();
        let all = self.node.store.all_messages(&conversation, MessagePage::after(0, 1_000)).await;
        let is_said =
            |message: &Message| message.message.role == role && message.message.kind == Kind::Message;
        all.unwrap_or_default().into_iter().filter(is_said).collect()
    }

    /// The events about schedules, the oldest first.
    pub(crate) async fn log(&self) -> Vec<StoredEvent> {
        self.node.events.flush().await.unwrap();
        let page = EventPage::newest(1_000);
        let mut events = self.node.store.events(&EventFilter::default(), &page).await.unwrap();
        events.retain(|event| event.event.event_type.as_str().starts_with("schedule_"));
        events.reverse();
        events
    }
}

async fn open(
    folder: &tempfile::TempDir,
    provider: &FakeProvider,
    clock: &Arc<MovedClock>,
    name: &str,
) -> Node {
    let clock = Arc::clone(clock) as Arc<dyn Surroundings>;
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    let timestamp = Arc::clone(&clock);
    let model = HttpModel::new(
        provider.provider(WireDialect::Anthropic),
        None,
        Arc::new(move || timestamp.timestamp()),
    );
    let who = (name.parse().unwrap(), Duration::from_secs(30));
    Node::open((folder.path(), &location), clock, who, Arc::new(model.unwrap())).await
}

fn write(folder: &Path, schedules: &[&str]) {
    let lines: String = schedules.iter().map(|line| format!("  {line}\n")).collect();
    let section = if lines.is_empty() { String::new() } else { format!("schedules:\n{lines}") };
    fs::write(folder.join("foreword.yaml"), configuration(&section)).unwrap();
}

/// When firings were due, as clocks in UTC show it, and what came of them.
pub(crate) fn told(firings: &[Firing]) -> Vec<(String, FiringOutcome)> {
    let told = |firing: &Firing| (short(firing.due_at), firing.outcome.unwrap());
    firings.iter().map(told).collect()
}

/// The day and the minute.
pub(crate) fn short(at: Timestamp) -> String {
    at.to_string()[8..16].replace('T', " ")
}
