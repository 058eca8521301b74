//! The tool trait, and the call context that a tool receives. The turn has already admitted the call: a tool runs only
//! with a permit and with arguments that match its schema.

pub mod sets;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use foreword_core::event::Event;
use foreword_core::id::{CallId, ConversationId, TurnId};
use foreword_core::message::Provenance;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use foreword_store::store::Store;
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::workspace::Workspace;
use serde_json::{Map, Value};

use crate::agent::WeakAgent;
use crate::conversation::inbound::TurnOrigin;

/// An executable tool.
pub trait Tool: Send + Sync {
    /// The name that the model uses. The specifications are in `foreword_core::tools`.
    fn name(&self) -> &str;

    /// Whether a call has side effects, so that it must not be repeated.
    fn has_side_effects(&self) -> bool;

    /// Whether it reads the event log. The caller then flushes the event queue first.
    fn reads_the_log(&self) -> bool {
        false
    }

    /// Runs the tool. Never panics: errors become outputs for the model. Dropping the future cancels the tool and
    /// everything that it has started.
    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture;
}

pub type ToolFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

/// A source of external tools, such as MCP servers. Its tools may change at runtime.
pub trait ToolSource: Send + Sync {
    /// The current tools. A turn keeps the set of its start.
    fn now(&self) -> Arc<OutsideTools>;

    /// Waits until all servers have started for the first time or have timed out.
    fn settled(&self) -> Settled;
}

/// Completes once all servers of a source have started or timed out.
pub type Settled = Pin<Box<dyn Future<Output = ()> + Send>>;

/// External tools.
#[derive(Clone, Default)]
pub struct OutsideTools {
    /// Increases with each change.
    pub version: u64,
    /// The specifications for the model, in a stable order.
    pub specs: Arc<[ToolSpec]>,
    /// The tools by name.
    pub tools: BTreeMap<String, Arc<dyn Tool>>,
    /// The names of tools that need the owner's confirmation in a tainted turn.
    pub sensitive: BTreeSet<String>,
}

/// The context of a tool call.
#[derive(Clone)]
pub struct ToolCall {
    pub id: CallId,
    /// The conversation of the turn.
    pub conversation: ConversationId,
    /// The turn that makes the call.
    pub turn: TurnId,
    /// The turn's effective trust. The tool reads, writes and counts nothing above it.
    pub trust: Trust,
    /// The user, if known.
    pub user: Option<Arc<str>>,
    /// The agent's name.
    pub agent: Arc<str>,
    /// Whether the turn has read untrusted content.
    pub tainted: bool,
    /// Whether the owner has confirmed this call.
    pub confirmed: bool,
    /// The least trusted provenance of the turn's messages.
    pub provenance: Provenance,
    pub origin: TurnOrigin,
    /// The agent, for tools that start turns.
    pub host: WeakAgent,
    /// The snapshot of the workspace that the turn uses.
    pub snapshot: Arc<Snapshot>,
    /// The workspace, for tools that change it.
    pub workspace: Arc<Workspace>,
    pub store: Store,
    /// The time of the call.
    pub now: Timestamp,
    /// Random bits for ids, different for each call.
    pub random: u128,
}

/// The output of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether the text may contain untrusted content. It is then framed for the model and taints the turn.
    pub from_outside: bool,
    /// Events to log in addition to the call.
    pub events: Vec<Event>,
}

impl ToolOutput {
    /// A result without untrusted content.
    #[must_use]
    pub fn trusted(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, from_outside: false, events: Vec::new() }
    }

    /// A result that may contain untrusted content.
    #[must_use]
    pub fn untrusted(text: impl Into<String>) -> Self {
        Self { from_outside: true, ..Self::trusted(text) }
    }

    /// An error, with advice for the model.
    #[must_use]
    pub fn failed(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::trusted(text) }
    }

    /// Adds an event to log.
    #[must_use]
    pub fn with_event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}
