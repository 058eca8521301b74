//! A whole agent for tests: a workspace on disk, a database, the built-in tools, and models reached over real HTTP from
//! a provider that follows a script.

use std::sync::Arc;
use std::time::Duration;

use foreword_agent::agent::Receipt;
use foreword_agent::conversation::feed::Progress;
use foreword_agent::conversation::inbound::{Attendance, Inbound, TurnOrigin};
use foreword_core::event::StoredEvent;
use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::Outcome;
use foreword_prompt::trust::Trust;
use foreword_store::events::{EventFilter, EventPage};
use foreword_testkit::{FakeProvider, Script};
use foreword_workspace::speaker::Speaker;

pub(crate) use crate::node::{Node, Setting};

/// The users and timeouts of every test. Retry delays are short; all other limits are the defaults.
pub(crate) const CONFIG: &str = "\
agent: { name: Ada, model: anthropic/claude-haiku-4-5 }
users:
  - { name: alice, trust: full, match: [\"terminal:default\", \"signal:alice\"] }
  - { name: bob, trust: inner, match: [\"signal:bob\"] }
  - { name: carol, trust: familiar, match: [\"signal:carol\"] }
retry: { base_delay_ms: 20, max_delay_ms: 100, requeue: { delay_ms: 50, max_delay_ms: 100 } }
";

/// An agent with its workspace and provider.
pub(crate) struct Fixture {
    node: Node,
    pub(crate) provider: FakeProvider,
    pub(crate) folder: tempfile::TempDir,
}

impl std::ops::Deref for Fixture {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
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

/// The progress events of a turn.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) progress: Vec<Arc<Progress>>,
}

impl Fixture {
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
        let node = Node::open(folder.path(), &provider, setting).await;
        Self { node, provider, folder }
    }

    /// Another process on the same workspace and the same database.
    pub(crate) async fn another(&self, setting: Setting) -> Node {
        Node::open(self.folder.path(), &self.provider, setting).await
    }

    /// Sends a message on `occasion` and waits for the answer.
    pub(crate) async fn say(&self, conversation: &str, occasion: TurnOrigin, text: &str) -> Seen {
        let receipt = self.send(conversation, occasion, text).await;
        self.follow(receipt).await
    }

    /// Everything up to the end of the turn that answers `receipt`.
    pub(crate) async fn follow(&self, receipt: Receipt) -> Seen {
        follow(receipt).await
    }

    pub(crate) async fn send(&self, conversation: &str, occasion: TurnOrigin, text: &str) -> Receipt {
        let conversation = ConversationId::new(conversation).unwrap();
        self.agent
            .send(Inbound { conversation, origin: occasion, text: text.to_owned(), key: None })
            .await
            .unwrap()
    }

    /// All events so far, the oldest first.
    pub(crate) async fn log(&self) -> Vec<StoredEvent> {
        self.agent.settled().await;
        self.flush().await;
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
    /// The streamed text.
    pub(crate) fn text(&self) -> String {
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
                let shown = failure.as_ref().map(|failure| failure.visible_at(trust, turn.as_str()).message);
                (*outcome, shown)
            }
            other => panic!("the turn has not ended: {other:?}"),
        }
    }

    /// Tool results: name, text and whether the call failed.
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
pub(crate) fn alice() -> TurnOrigin {
    TurnOrigin::default()
}

/// A user in a direct conversation.
pub(crate) fn on(channel: &str) -> TurnOrigin {
    TurnOrigin {
        speaker: Speaker {
            channel: Some(foreword_prompt::occasion::Channel::new(channel)),
            ..Speaker::default()
        },
        ..TurnOrigin::default()
    }
}

/// The same in the group.
pub(crate) fn in_group(channel: &str) -> TurnOrigin {
    TurnOrigin {
        speaker: Speaker { situation: Some("group".into()), ..on(channel).speaker.clone() },
        ..on(channel)
    }
}

/// The same, unattended.
pub(crate) fn unwatched(occasion: TurnOrigin) -> TurnOrigin {
    TurnOrigin { attendance: Attendance::Unattended, ..occasion }
}
