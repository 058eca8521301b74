//! An agent with schedules, whose clock the test moves.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::background::schedules::Scheduler;
use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_core::event::StoredEvent;
use foreword_core::id::ConversationId;
use foreword_core::message::{Kind, Message, Role};
use foreword_core::schedule::FiringOutcome;
use foreword_core::timestamp::Timestamp;
use foreword_store::events::{EventFilter, EventPage};
use foreword_store::messages::MessagePage;
use foreword_store::schedules::{Firing, StoredSchedule};
use foreword_testkit::{FakeProvider, Script, eventually};

use super::clock::MovedClock;
use crate::fixture::{Node, Setting, configuration};

/// The poll interval: short, because the test moves the clock.
pub(crate) const LOOK: Duration = Duration::from_millis(15);
/// Monday, nine o'clock in Berlin.
pub(crate) const MORNING: &str = "2026-11-16T08:00:00Z";

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

    pub(crate) fn scheduler(&self) -> Scheduler {
        Scheduler::start_with_interval(&self.node.agent, LOOK)
    }

    /// The stored schedule, once it matches.
    pub(crate) async fn schedule(&self, name: &str, is: impl Fn(&StoredSchedule) -> bool) -> StoredSchedule {
        eventually(async || {
            let all = self.node.store.schedules().await.unwrap();
            let found = all.iter().find(|schedule| schedule.name == name && is(schedule)).cloned();
            found.ok_or(all)
        })
        .await
    }

    /// The firings of a schedule, the oldest first, once `count` of them have ended.
    pub(crate) async fn ended(&self, name: &str, count: usize) -> Vec<Firing> {
        eventually(async || {
            let firings = self.firings(name).await;
            let ended = firings.iter().filter(|firing| firing.ended_at.is_some()).count();
            if ended >= count { Ok(firings) } else { Err(firings) }
        })
        .await
    }

    pub(crate) async fn firings(&self, name: &str) -> Vec<Firing> {
        let mut firings = self.node.store.firings(name, 1_000).await.unwrap();
        firings.reverse();
        firings
    }

    /// Lets the scheduler poll several times.
    pub(crate) async fn let_it_look(&self) {
        self.clock.until_read(5).await;
    }

    /// The messages of `role` in a schedule's conversation.
    pub(crate) async fn messages(&self, name: &str, role: Role) -> Vec<Message> {
        let conversation = ConversationId::new(format!("schedule-{name}")).unwrap();
        let all = self.node.store.all_messages(&conversation, MessagePage::after(0, 1_000)).await;
        let is_said =
            |message: &Message| message.message.role == role && message.message.kind == Kind::Message;
        all.unwrap_or_default().into_iter().filter(is_said).collect()
    }

    /// The events about schedules, the oldest first.
    pub(crate) async fn log(&self) -> Vec<StoredEvent> {
        self.node.flush().await;
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
    let (clock, name) = (Arc::clone(clock) as Arc<dyn ClockAndRng>, Some(name.to_owned()));
    Node::open(folder.path(), provider, Setting { clock, name, ..Setting::default() }).await
}

fn write(folder: &Path, schedules: &[&str]) {
    let lines: String = schedules.iter().map(|line| format!("  {line}\n")).collect();
    let section = if lines.is_empty() { String::new() } else { format!("schedules:\n{lines}") };
    fs::write(folder.join("foreword.yaml"), configuration(&section)).unwrap();
}

/// Due times in UTC, with outcomes.
pub(crate) fn outcomes(firings: &[Firing]) -> Vec<(String, FiringOutcome)> {
    let outcome = |firing: &Firing| (short(firing.due_at), firing.outcome.unwrap());
    firings.iter().map(outcome).collect()
}

/// The day and the minute.
pub(crate) fn short(at: Timestamp) -> String {
    at.to_string()[8..16].replace('T', " ")
}
