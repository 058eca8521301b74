//! A workspace in a temporary folder with its own store, and its memory tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreword_core::message::Provenance;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::NewConversation;
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_workspace::workspace::{Environment, Workspace};
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::memory::Memory;
use crate::tool::{ToolCall, ToolOutput};

pub(super) const PEOPLE: &str = "\
users:
  - { name: alice, trust: full, match: [\"terminal:default\"] }
  - { name: bob, trust: inner, match: [\"signal:bob\"] }
  - { name: carol, trust: familiar, match: [\"signal:carol\"] }
";

pub(super) struct Fixture {
    folder: TempDir,
    pub(super) workspace: Arc<Workspace>,
    pub(super) store: Store,
    pub(super) memory: Memory,
}

impl Fixture {
    pub(super) async fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            write(folder.path(), path, text);
        }
        let workspace = Arc::new(Workspace::open(folder.path(), Environment::default()).unwrap());
        let store = open(&folder.path().join(".foreword/foreword.db")).await;
        Self { memory: Memory::new(store.clone()), folder, workspace, store }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        write(self.folder.path(), path, text);
    }

    /// The same store as opened by another process.
    pub(super) async fn another_process(&self) -> Memory {
        Memory::new(open(&self.path().join(".foreword/foreword.db")).await)
    }

    /// A call in a turn of the owner.
    pub(super) fn call(&self, trust: Trust) -> ToolCall {
        let mut random = [0; 16];
        // Unique per call is enough here.
        random[..8]
            .copy_from_slice(&COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_le_bytes());
        ToolCall {
            id: "call-1".parse().unwrap(),
            conversation: "c-1".parse().unwrap(),
            turn: "t-1".parse().unwrap(),
            trust,
            user: Some("alice".into()),
            agent: "Assistant".into(),
            tainted: false,
            confirmed: false,
            provenance: Provenance::Owner,
            origin: crate::conversation::inbound::TurnOrigin::default(),
            host: crate::agent::WeakAgent::default(),
            snapshot: self.workspace.snapshot(),
            workspace: Arc::clone(&self.workspace),
            store: self.store.clone(),
            now: now(),
            random: u128::from_le_bytes(random),
        }
    }

    pub(super) async fn converse(&self, channel: &str, situation: &str) {
        let mut new = NewConversation::new("c-1".parse().unwrap(), "Assistant", situation, now());
        new.channel = Some(channel.to_owned());
        self.store.create_conversation(new).await.unwrap();
    }

    pub(super) async fn run(&self, name: &str, arguments: Value, call: ToolCall) -> ToolOutput {
        run(&self.memory, name, arguments, call).await
    }

    pub(super) async fn search(&self, query: &str, trust: Trust) -> ToolOutput {
        self.run("memory_search", serde_json::json!({ "query": query }), self.call(trust)).await
    }

    pub(super) async fn get(&self, path: &str, trust: Trust) -> ToolOutput {
        self.run("memory_get", serde_json::json!({ "path": path }), self.call(trust)).await
    }

    /// Stores a note in a turn of the owner, and returns its path.
    pub(super) async fn note(&self, store: &str, title: &str, text: &str) -> String {
        let arguments = serde_json::json!({ "store": store, "title": title, "text": text });
        kept_as(&self.run("memory_write", arguments, self.call(Trust::Full)).await)
    }
}

static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

pub(super) async fn run(memory: &Memory, name: &str, arguments: Value, call: ToolCall) -> ToolOutput {
    let Value::Object(arguments) = arguments else { panic!("no arguments") };
    let tools = crate::tools::memory(memory.clone());
    let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
    tool.run(arguments, call).await
}

/// The arguments of the first `memory_get(…)` in `text`, as a model would pass them.
pub(super) fn printed_call(text: &str) -> Value {
    let (_, rest) = text.split_once("memory_get(").unwrap_or_else(|| panic!("no call in {text}"));
    let (call, _) = rest.split_once(')').unwrap();
    let parts: Vec<Value> = serde_json::from_str(&format!("[{call}]")).unwrap();
    let names = ["path", "from", "lines"].into_iter().map(str::to_owned);
    Value::Object(names.zip(parts).collect::<Map<_, _>>())
}

pub(super) fn kept_as(output: &ToolOutput) -> String {
    let (_, path) = output.text.split_once("Stored as ").unwrap_or_else(|| panic!("{}", output.text));
    path.split_once('.').unwrap().0.to_owned()
}

pub(super) fn now() -> Timestamp {
    Timestamp::from_micros(1_794_816_000_000_000)
}

async fn open(path: &Path) -> Store {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let url = foreword_core::store_url::StoreUrl::parse(path.to_str().unwrap()).unwrap();
    Store::open(&Location::new(&url, path.parent().unwrap()), now()).await.unwrap()
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
