//! The writes of the killed process, and how to verify them.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::id::{NodeId, TurnId};
use foreword_core::message::{NewMessage, Provenance, Role, Usage};
use foreword_core::turn_journal::{JournalStep, Outcome, TurnState};
use foreword_prompt::trust::Trust;
use foreword_store::events::{EventFilter, EventPage, EventQueue, QueueConfig};
use foreword_store::messages::MessagePage;
use foreword_store::store::Store;
use foreword_store::templates::NewTemplate;
use foreword_store::turns::{BeginOutcome, BeginTurn, FinishTurn, NewStep, TakeMessages};

use crate::child;
use crate::contract::now;
use crate::conversations::{begin, id, new_message};
use crate::epochs::proposed;

type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A kind of write.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// Writes in a loop, and acknowledges each write.
    pub(super) write: fn(Writer) -> Task<()>,
    /// Acknowledged writes that are missing or incomplete.
    pub(super) missing: fn(Store, Vec<String>) -> Task<Vec<String>>,
}

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "templates",
        write: |writer| Box::pin(write_templates(writer)),
        missing: |store, acknowledged| Box::pin(missing_templates(store, acknowledged)),
    },
    Workload {
        name: "messages",
        write: |writer| Box::pin(write_messages(writer)),
        missing: |store, acknowledged| Box::pin(missing_messages(store, acknowledged)),
    },
    Workload {
        name: "epochs",
        write: |writer| Box::pin(write_epochs(writer)),
        missing: |store, acknowledged| Box::pin(missing_epochs(store, acknowledged)),
    },
    Workload {
        name: "turns",
        write: |writer| Box::pin(write_turns(writer)),
        missing: |store, acknowledged| Box::pin(missing_turns(store, acknowledged)),
    },
    Workload {
        name: "events",
        write: |writer| Box::pin(write_events(writer)),
        missing: |store, acknowledged| Box::pin(missing_events(store, acknowledged)),
    },
];

/// The store, and a name unique to this process.
pub(super) struct Writer {
    pub(super) store: Store,
    pub(super) run: String,
    pub(super) workload: &'static str,
}

impl Writer {
    /// Tells the parent that a write is durable.
    fn acknowledge(&self, what: &str) {
        child::say(&format!("{} {what}", self.workload));
    }
}

/// The fields of an acknowledgement.
fn fields(acknowledged: &str) -> Vec<&str> {
    acknowledged.split(' ').collect()
}

async fn write_templates(writer: Writer) {
    for number in 0.. {
        let text = format!("{}-{number}", writer.run);
        let stored = writer.store.add_template(NewTemplate::new(&text, "alice", now())).await.unwrap();
        writer.acknowledge(&format!("{} {text}", stored.version));
    }
}

async fn missing_templates(store: Store, acknowledged: Vec<String>) -> Vec<String> {
    let mut missing = Vec::new();
    for template in acknowledged {
        let words = fields(&template);
        let stored = store.template_version(words[0].parse().unwrap()).await;
        if !stored.is_ok_and(|stored| stored.text == words[1]) {
            missing.push(template);
        }
    }
    missing
}

async fn write_messages(writer: Writer) {
    let conversation = begin(&writer.store, &writer.run).await;
    for number in 0.. {
        let message = format!("{}-{number}", writer.run);
        writer.store.accept(new_message(&conversation, &message, &message), None).await.unwrap();
        writer.acknowledge(&format!("{conversation} {message}"));
    }
}

async fn missing_messages(store: Store, mut acknowledged: Vec<String>) -> Vec<String> {
    let conversation = id(fields(&acknowledged[0])[0]);
    let mut stored = BTreeSet::new();
    let mut last = 0;
    loop {
        let messages = store.all_messages(&conversation, MessagePage::after(last, 500)).await.unwrap();
        let Some(message) = messages.last() else { break };
        last = message.seq;
        stored.extend(messages.into_iter().map(|message| message.message.id.to_string()));
    }
    acknowledged.retain(|message| !stored.contains(fields(message)[1]));
    acknowledged
}

async fn write_epochs(writer: Writer) {
    let conversation = begin(&writer.store, &writer.run).await;
    for number in 0.. {
        let mut next = proposed(&conversation, &format!("You are kind, {} {number} times.", writer.run));
        next.dependencies.hard.model_family = format!("family-{number}").into();
        let epoch = writer.store.epoch_for(next).await.unwrap().into_epoch();
        writer.acknowledge(&format!("{conversation} {} {}", epoch.info.number, epoch.info.fingerprint));
    }
}

async fn missing_epochs(store: Store, acknowledged: Vec<String>) -> Vec<String> {
    let mut missing = Vec::new();
    for epoch in acknowledged {
        let words = fields(&epoch);
        // Reading an epoch also verifies its fingerprint.
        let stored = store.epoch_number(&id(words[0]), words[1].parse().unwrap()).await;
        if !stored.is_ok_and(|stored| stored.info.fingerprint.to_string() == words[2]) {
            missing.push(epoch);
        }
    }
    missing
}

async fn write_turns(writer: Writer) {
    let conversation = begin(&writer.store, &writer.run).await;
    for number in 0.. {
        let turn = TurnId::new(format!("{}-{number}", writer.run)).unwrap();
        let begin = BeginTurn {
            turn: turn.clone(),
            conversation: conversation.clone(),
            node: NodeId::new("node-a").unwrap(),
            trust: Trust::Full,
            take: TakeMessages::Nothing,
            lease: Duration::from_secs(3_600),
            now: now(),
        };
        let BeginOutcome::Begun(begun) = writer.store.begin_turn(begin).await.unwrap() else {
            panic!("not begun")
        };
        writer.acknowledge(&format!("{turn} 1"));
        let call = JournalStep::Call {
            model: "offline/echo".to_owned(),
            content: Vec::new(),
            usage: Usage::default(),
        };
        let step = NewStep { number: begun.next_step, step: call, saved: None, at: now() };
        writer.store.record_step(&begun.hold, step).await.unwrap();
        writer.acknowledge(&format!("{turn} 2"));
        let reply = NewMessage {
            role: Role::Assistant,
            provenance: Provenance::Agent,
            ..new_message(&conversation, &format!("{turn}-reply"), "hello")
        };
        let finish = FinishTurn { outcome: Outcome::Done, reply: vec![reply], failure: None, at: now() };
        writer.store.finish_turn(&begun.hold, finish).await.unwrap();
        writer.acknowledge(&format!("{turn} 3"));
    }
}

async fn missing_turns(store: Store, acknowledged: Vec<String>) -> Vec<String> {
    let mut missing = Vec::new();
    for acknowledged in acknowledged {
        let words = fields(&acknowledged);
        let turn = TurnId::new(words[0]).unwrap();
        let steps = store.journal(&turn).await.unwrap_or_default().len();
        let ended = store.turn(&turn).await.is_ok_and(|turn| turn.state == TurnState::Ended(Outcome::Done));
        // A turn has ended exactly if its last step is recorded.
        if steps < words[1].parse().unwrap() || ended != (steps == 3) {
            missing.push(format!("{acknowledged}: {steps} steps, ended: {ended}"));
        }
    }
    missing
}

async fn write_events(writer: Writer) {
    let config = QueueConfig { linger: Duration::from_millis(1), retention: None, ..QueueConfig::default() };
    let queue = EventQueue::start(writer.store.clone(), Arc::new(now), config);
    for number in 0.. {
        let channel = format!("{}-{number}", writer.run);
        for _ in 0..10 {
            queue.record(Event {
                session_id: Some(id(&writer.run)),
                channel: Some(channel.as_str().into()),
                ..Event::new(EventType::ToolCall, now())
            });
        }
        queue.flush().await.unwrap();
        assert_eq!(queue.dropped(), 0);
        writer.acknowledge(&channel);
    }
}

async fn missing_events(store: Store, acknowledged: Vec<String>) -> Vec<String> {
    let mut missing = Vec::new();
    // All events of a process are in one conversation.
    let run = acknowledged[0].rsplit_once('-').unwrap().0;
    let mut stored = BTreeMap::<String, u32>::new();
    let filter = EventFilter { session: Some(id(run)), ..EventFilter::default() };
    let mut page = EventPage::oldest(500);
    loop {
        let events = store.events(&filter, &page).await.unwrap();
        let Some(last) = events.last() else { break };
        page.after = Some(last.into());
        for channel in events.iter().filter_map(|stored| stored.event.channel.as_deref()) {
            *stored.entry(channel.to_owned()).or_default() += 1;
        }
    }
    for channel in acknowledged {
        if stored.get(&channel) != Some(&10) {
            missing.push(channel);
        }
    }
    missing
}
