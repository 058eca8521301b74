//! A tool as something that can be run, and what it may know of the turn that runs it. Whether a call is allowed at all
//! was decided before: a tool is only run on a permit, with arguments that fit its schema.

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
use crate::inbound::Occasion;

/// A tool that can be run.
pub trait Tool: Send + Sync {
    /// The name the model calls it by; its description stands in `foreword_core::tools`.
    fn name(&self) -> &str;

    /// Whether a call changes something in the world, so that calling it again is not the same as calling it once.
    fn has_side_effects(&self) -> bool;

    /// Whether it reads the log. Then what has just happened is written first.
    fn reads_the_log(&self) -> bool {
        false
    }

    /// Does it. Never panics; what goes wrong is an output for the model to read. Dropping the future stops it, and
    /// nothing it started goes on.
    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture;
}

/// A tool at work.
pub type ToolFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

/// Where tools come from that are not part of the program: they may come and go while it runs.
pub trait ToolSource: Send + Sync {
    /// What there is now. A turn keeps to what there was when it began.
    fn now(&self) -> Arc<OutsideTools>;

    /// Waits until what is being started for the first time is there, or is not waited for any more.
    fn settled(&self) -> Settled;
}

/// Ends once a source has settled.
pub type Settled = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tools that are not part of the program.
#[derive(Clone, Default)]
pub struct OutsideTools {
    /// Another number whenever something has changed.
    pub version: u64,
    /// What a model reads of them, in a stable order.
    pub specs: Arc<[ToolSpec]>,
    /// What runs them, by name.
    pub tools: BTreeMap<String, Arc<dyn Tool>>,
    /// Those that a turn which has read text from outside may only call once the owner has agreed.
    pub sensitive: BTreeSet<String>,
}

/// Who calls a tool, for whom, with what trust, and what there is to work with.
#[derive(Clone)]
pub struct ToolCall {
    /// Which call.
    pub id: CallId,
    /// The conversation.
    pub conversation: ConversationId,
    /// The turn.
    pub turn: TurnId,
    /// The turn's effective trust: nothing above it is read, written or counted.
    pub trust: Trust,
    /// The known user the turn is for.
    pub user: Option<Arc<str>>,
    /// The agent's name.
    pub agent: Arc<str>,
    /// Whether the turn has read text from outside.
    pub tainted: bool,
    /// Whether the owner was asked about this very call, and said yes.
    pub confirmed: bool,
    /// Where the words of the turn come from, at worst.
    pub provenance: Provenance,
    /// On which occasion the turn runs.
    pub occasion: Occasion,
    /// The agent that runs it, for what begins turns of its own.
    pub host: WeakAgent,
    /// The workspace as the turn sees it.
    pub snapshot: Arc<Snapshot>,
    /// The workspace itself, for what changes it.
    pub workspace: Arc<Workspace>,
    /// What lasts.
    pub store: Store,
    /// When.
    pub now: Timestamp,
    /// Chance for ids: fresh for each call.
    pub random: u128,
}

/// What a tool gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether words in it may come from outside: they are framed for the model, and taint the turn.
    pub from_outside: bool,
    /// What happened on the way that belongs into the log besides the call itself.
    pub events: Vec<Event>,
}

impl ToolOutput {
    /// What the model wanted, in our own words or the owner's.
    #[must_use]
    pub fn ours(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, from_outside: false, events: Vec::new() }
    }

    /// What the model wanted, with words that may come from outside.
    #[must_use]
    pub fn outside(text: impl Into<String>) -> Self {
        Self { from_outside: true, ..Self::ours(text) }
    }

    /// Why it did not work, and what to do instead.
    #[must_use]
    pub fn failed(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::ours(text) }
    }

    /// The same, with something for the log.
    #[must_use]
    pub fn with_event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}
