//! A workspace, a database and the tools, as an agent calls them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use foreword_agent::tool::{Tool, ToolCall, ToolFuture, ToolOutput};
use foreword_agent::tools::{ToolSettings, builtin};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::message::Provenance;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::NewConversation;
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_store::turns::{BeginOutcome, BeginTurn, TakeMessages, TurnLease};
use foreword_workspace::workspace::{Environment, Workspace};
use serde_json::Value;
use tempfile::TempDir;

const CONFIG: &str = "\
agent: { name: Ada }
users:
  - { name: alice, trust: full, match: [\"terminal:default\"] }
  - { name: bob, trust: inner }
  - { name: carol, trust: familiar }
";

/// `house/` is the workspace; whatever else is in the temporary directory is outside.
pub(crate) struct Fixture {
    base: TempDir,
    pub(crate) store: Store,
    workspace: Arc<Workspace>,
    tools: Vec<Arc<dyn Tool>>,
    chance: AtomicU32,
}

impl Fixture {
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, CONFIG, ToolSettings::default()).await
    }

    pub(crate) async fn with(files: &[(&str, &str)], config: &str, settings: ToolSettings) -> Self {
        let base = tempfile::tempdir().unwrap();
        let workspace_dir = base.path().join("house");
        fs::create_dir(&workspace_dir).unwrap();
        for (path, text) in [("foreword.yaml", config)].iter().chain(files) {
            let path = workspace_dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let location = Location::file(workspace_dir.join(".foreword/foreword.db"));
        let store = Store::open(&location, now()).await.unwrap();
        let workspace = Arc::new(Workspace::open(&workspace_dir, Environment::default()).unwrap());
        Self { base, store, workspace, tools: builtin(settings), chance: AtomicU32::new(1) }
    }

    pub(crate) fn workspace_dir(&self) -> PathBuf {
        self.base.path().join("house")
    }

    pub(crate) fn outside(&self) -> &Path {
        self.base.path()
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.workspace_dir().join(path)).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.workspace_dir().join(path)).unwrap()
    }

    /// A call as it is made for `user` with `trust`, in conversation `c-1` and turn `t-1`.
    pub(crate) fn call(&self, user: &str, trust: Trust) -> ToolCall {
        self.workspace.refresh();
        let chance = self.chance.fetch_add(1, Ordering::Relaxed);
        ToolCall {
            id: format!("call-{chance}").parse().unwrap(),
            conversation: conversation(),
            turn: turn(),
            trust,
            user: Some(user.into()),
            agent: "Ada".into(),
            tainted: false,
            confirmed: false,
            provenance: Provenance::User,
            origin: foreword_agent::conversation::inbound::TurnOrigin::default(),
            host: foreword_agent::agent::WeakAgent::default(),
            snapshot: self.workspace.snapshot(),
            workspace: Arc::clone(&self.workspace),
            store: self.store.clone(),
            now: now(),
            // Different in every test process, because commands are identified by it.
            random: (u128::from(std::process::id()) << 64) | (address_of(self) << 32) | u128::from(chance),
        }
    }

    pub(crate) fn start(&self, tool: &str, arguments: Value, call: ToolCall) -> ToolFuture {
        let tool = self.tools.iter().find(|there| there.name() == tool).unwrap();
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        tool.run(arguments, call)
    }

    pub(crate) async fn run(&self, tool: &str, arguments: Value, call: ToolCall) -> ToolOutput {
        self.start(tool, arguments, call).await
    }

    /// The result for the owner.
    pub(crate) async fn alice(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.run(tool, arguments, self.call("alice", Trust::Full)).await
    }

    /// The result for a close user.
    pub(crate) async fn bob(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.run(tool, arguments, self.call("bob", Trust::Inner)).await
    }

    pub(crate) async fn conversation(&self, id: &str, user: &str, channel: &str) {
        let new = NewConversation::new(id.parse().unwrap(), "Ada", "dm", now());
        let new = NewConversation { user: Some(user.to_owned()), channel: Some(channel.to_owned()), ..new };
        self.store.create_conversation(new).await.unwrap();
    }

    pub(crate) async fn begin(&self, turn: &str, conversation: &str, trust: Trust) -> TurnLease {
        let begin = BeginTurn {
            turn: turn.parse().unwrap(),
            conversation: conversation.parse().unwrap(),
            node: "node-a".parse().unwrap(),
            trust,
            take: TakeMessages::Nothing,
            lease: std::time::Duration::from_secs(30),
            now: now(),
        };
        let BeginOutcome::Begun(begun) = self.store.begin_turn(begin).await.unwrap() else { panic!("busy") };
        begun.hold
    }
}

fn address_of(fixture: &Fixture) -> u128 {
    std::ptr::from_ref(fixture).addr() as u32 as u128
}

pub(crate) fn now() -> Timestamp {
    "2026-11-16T08:00:00Z".parse().unwrap()
}

pub(crate) fn conversation() -> ConversationId {
    "c-1".parse().unwrap()
}

pub(crate) fn turn() -> TurnId {
    "t-1".parse().unwrap()
}
