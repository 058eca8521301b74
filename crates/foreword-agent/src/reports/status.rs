//! The agent's current status. The owner sees every channel and conversation; others see their own conversation. Never
//! includes the store's location, only its kind.

mod layers;
mod view;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::memory_store::MemoryStore;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventPage};
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;
use jiff::Zoned;
use serde::Serialize;

use crate::prompt::failing_sources::{FailingSource, failing_sources};
use crate::reports::viewer::Viewer;
use crate::tools::event_line::{event_line, has_free_text, is_a_name, moment};
use crate::tools::limits::counted;

pub use layers::LayerStatus;
pub use view::{BudgetUsage, NextFiring, OperationalStatus, ToolServer};

/// The period of recent activity.
const RECENT_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
/// The maximum number of events per kind, and of conversations, that are read.
const MAX_RECORDS: u32 = 1_000;
/// The maximum number of listed conversations.
const MAX_LISTED: usize = 10;
/// The maximum number of listed errors.
const MAX_ERRORS: usize = 10;
/// The maximum length of a name.
const NAME_CHARS: usize = 120;

/// The agent's status. Its text form is for the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentStatus {
    /// The current time.
    pub now: Timestamp,
    /// The part that only the owner sees.
    #[serde(flatten)]
    pub owner: Option<OwnerStatus>,
    /// The viewer's conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationStatus>,
    /// The number of observations in each store the viewer may read. Other stores are omitted.
    pub memory: BTreeMap<MemoryStore, u64>,
    /// The prompt layers the viewer may know of.
    pub layers: Vec<LayerStatus>,
    /// The latest visible errors, newest first.
    pub errors: Vec<Event>,
}

/// The part that only the owner sees.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnerStatus {
    /// The node that reports, if it runs turns: the inner `None` means that its name is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Option<String>>,
    /// The kind of store; `None` if nothing was ever stored.
    pub store: Option<StoreKind>,
    /// The channels of the last 24 hours, by name.
    pub channels: BTreeMap<Arc<str>, ChannelStatus>,
    /// The conversations of the last 24 hours.
    pub conversations: Active,
    /// The prompt sources that cannot be read or rendered.
    pub sources: Vec<FailingSource>,
    /// Spending, next firings and dependencies.
    #[serde(flatten)]
    pub operational: OperationalStatus,
}

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// A SQLite file.
    Sqlite,
    /// A Postgres server.
    Postgres,
}

/// The status of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ChannelStatus {
    /// The time of the last message in either direction.
    pub last_message: Option<Timestamp>,
    /// The number of errors.
    pub errors: usize,
}

/// Active conversations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Active {
    /// Their number.
    pub count: usize,
    /// Whether there may be more than were read.
    pub or_more: bool,
    /// The most recently active ones.
    pub listed: Vec<ConversationStatus>,
}

/// A conversation in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConversationStatus {
    pub id: String,
    /// Its user, if known.
    pub user: Option<String>,
    /// The channel it began in.
    pub channel: Option<String>,
    /// Its situation, if the viewer may know it.
    pub situation: Option<String>,
    /// The time of the last activity.
    pub last_activity_at: Timestamp,
}

impl ConversationStatus {
    /// Hides user and channel from other viewers: the conversation may have begun at a higher trust.
    fn redact_for(self, viewer: &Viewer) -> Self {
        if viewer.user.is_some() && self.user.as_deref() == viewer.user.as_deref() {
            return self;
        }
        Self { user: None, channel: None, situation: None, ..self }
    }

    /// Names chosen by people or bridges.
    fn names(&self) -> impl Iterator<Item = &str> {
        [self.user.as_deref(), self.channel.as_deref(), self.situation.as_deref()].into_iter().flatten()
    }
}

impl AgentStatus {
    /// The status of `workspace` under `config`, as far as `viewer` may see it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn visible_to(
        viewer: &Viewer,
        workspace: &Arc<Workspace>,
        config: &Config,
    ) -> Result<Self, StoreError> {
        let (mut owner, mut conversation) = (None, None);
        if viewer.sees_everything() {
            owner = Some(OwnerStatus {
                node: node(viewer).await?,
                store: Some(kind(&viewer.store)),
                channels: channels(viewer).await?,
                conversations: conversations(viewer).await?,
                sources: failing_sources(workspace, Some(&viewer.store), zoned(viewer)).await?,
                operational: OperationalStatus::visible_to(viewer, config).await?,
            });
        } else if let Some(id) = &viewer.conversation {
            conversation = viewer
                .store
                .conversation(id)
                .await?
                .map(|found| ConversationStatus::from(found).redact_for(viewer));
        }
        let memory = viewer.store.count_observations(&MemoryStore::permitted(viewer.trust)).await?;
        let errors = EventFilter { levels: vec![Level::Error], ..EventFilter::default() };
        let errors = viewer.newest(errors, MAX_ERRORS).await?;
        let layers = layers::visible_to(viewer, config).await?;
        Ok(Self { now: viewer.now, owner, conversation, memory, layers, errors })
    }

    /// The status under `config` when nothing was ever stored.
    #[must_use]
    pub fn empty(now: Timestamp, trust: Trust, config: &Config) -> Self {
        let owner = trust.permits(Trust::Full).then(|| OwnerStatus {
            node: None,
            store: None,
            channels: BTreeMap::new(),
            conversations: Active::default(),
            sources: Vec::new(),
            operational: OperationalStatus::empty(),
        });
        let memory = MemoryStore::permitted(trust).into_iter().map(|store| (store, 0)).collect();
        let layers = layers::permitted(config, trust, &[]);
        Self { now, owner, conversation: None, memory, layers, errors: Vec::new() }
    }

    /// Whether it may contain text from outside.
    #[must_use]
    pub fn has_free_text(&self) -> bool {
        let owner = self.owner.iter();
        let channels = owner.clone().flat_map(|owner| owner.channels.keys().map(|name| &**name));
        let conversations = owner.flat_map(|owner| &owner.conversations.listed).chain(&self.conversation);
        let mut names = channels.chain(conversations.flat_map(ConversationStatus::names));
        // A name chosen by others may contain arbitrary text.
        self.errors.iter().any(has_free_text) || !names.all(is_a_name)
    }
}

/// The current time in the viewer's time zone.
fn zoned(viewer: &Viewer) -> Zoned {
    jiff::Timestamp::from_microsecond(viewer.now.as_micros())
        .unwrap_or_default()
        .to_zoned(viewer.zone.clone())
}

async fn node(viewer: &Viewer) -> Result<Option<Option<String>>, StoreError> {
    let Some(turn) = &viewer.turn else { return Ok(None) };
    match viewer.store.turn(turn).await {
        Ok(turn) => Ok(Some(Some(turn.holder.to_string()))),
        Err(StoreError::NotFound { .. }) => Ok(Some(None)),
        Err(error) => Err(error),
    }
}

/// The store's location is not shown in a conversation.
fn kind(store: &Store) -> StoreKind {
    if store.location().path().is_some() { StoreKind::Sqlite } else { StoreKind::Postgres }
}

async fn channels(viewer: &Viewer) -> Result<BTreeMap<Arc<str>, ChannelStatus>, StoreError> {
    let mut channels: BTreeMap<Arc<str>, ChannelStatus> = BTreeMap::new();
    for event_type in [EventType::MessageReceived, EventType::MessageSent, EventType::ChannelError] {
        let filter = EventFilter {
            event_type: Some(event_type.clone()),
            since: Some(viewer.now.minus(RECENT_WINDOW)),
            ..EventFilter::default()
        };
        for stored in viewer.store.events(&filter, &EventPage::newest(u64::from(MAX_RECORDS))).await? {
            let Some(name) = stored.event.channel.clone() else { continue };
            let channel = channels.entry(name).or_default();
            if event_type == EventType::ChannelError {
                channel.errors += 1;
            } else {
                channel.last_message = channel.last_message.max(Some(stored.event.timestamp));
            }
        }
    }
    Ok(channels)
}

async fn conversations(viewer: &Viewer) -> Result<Active, StoreError> {
    let found = viewer.store.conversations(ConversationPage::first(MAX_RECORDS)).await?;
    let since = viewer.now.minus(RECENT_WINDOW);
    let active: Vec<Conversation> = found.into_iter().filter(|one| one.last_activity_at >= since).collect();
    let (count, or_more) = (active.len(), active.len() >= MAX_RECORDS as usize);
    Ok(Active {
        count,
        or_more,
        listed: active.into_iter().take(MAX_LISTED).map(ConversationStatus::from).collect(),
    })
}

impl From<Conversation> for ConversationStatus {
    fn from(conversation: Conversation) -> Self {
        Self {
            id: conversation.id.to_string(),
            user: conversation.user,
            channel: conversation.channel,
            situation: Some(conversation.situation),
            last_activity_at: conversation.last_activity_at,
        }
    }
}

impl fmt::Display for AgentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "now {}", moment(self.now))?;
        if let Some(owner) = &self.owner {
            write!(f, "{owner}")?;
        }
        if let Some(conversation) = &self.conversation {
            write!(f, "\nthis conversation: {conversation}")?;
        }
        let counts = self.memory.iter().map(|(store, count)| format!("{} {count}", store.as_str()));
        match counts.collect::<Vec<_>>().as_slice() {
            [] => f.write_str("\nmemory: none here")?,
            counts => write!(f, "\nmemory, observations: {}", counts.join(", "))?,
        }
        if let Some(at) = self.owner.as_ref().and_then(|owner| owner.operational.memory_kept_at) {
            write!(f, "\nmemory, last kept: {}", moment(at))?;
        }
        write!(f, "{}", layers::Line(&self.layers))?;
        f.write_str("\nlatest errors:")?;
        if self.errors.is_empty() {
            return f.write_str(" none");
        }
        self.errors
            .iter()
            .try_for_each(|event| write!(f, "\n- {} {}", moment(event.timestamp), event_line(event)))
    }
}

impl fmt::Display for OwnerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(Some(node)) => write!(f, ", node `{}`", single_line(node, NAME_CHARS))?,
            Some(None) => f.write_str(", node unknown")?,
            None => {}
        }
        f.write_str(match self.store {
            Some(StoreKind::Sqlite) => ", stored in a SQLite file",
            Some(StoreKind::Postgres) => ", stored in a Postgres server",
            None => ", nothing stored yet",
        })?;
        f.write_str("\nchannels in the last 24 hours:")?;
        if self.channels.is_empty() {
            f.write_str(" none had a message or an error")?;
        }
        for (name, channel) in &self.channels {
            let last = channel
                .last_message
                .map_or_else(|| "no message".to_owned(), |at| format!("last message {}", moment(at)));
            let errors = counted(channel.errors, "error");
            write!(f, "\n- {}: {last}, {errors}", single_line(name, NAME_CHARS))?;
        }
        write!(f, "{}", self.conversations)?;
        for failing in &self.sources {
            write!(f, "\nprompt source failing: {failing}")?;
        }
        write!(f, "{}", self.operational)
    }
}

impl fmt::Display for Active {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_more = if self.or_more { " or more" } else { "" };
        let count = with_thousands(self.count);
        write!(f, "\nconversations active in the last 24 hours: {count}{or_more}")?;
        self.listed.iter().try_for_each(|conversation| write!(f, "\n- {conversation}"))?;
        if self.count > self.listed.len() {
            write!(f, "\n- and {} more", with_thousands(self.count - self.listed.len()))?;
        }
        Ok(())
    }
}

impl fmt::Display for ConversationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |name: &str| single_line(name, NAME_CHARS);
        let (id, active) = (name(&self.id), moment(self.last_activity_at));
        let Some(situation) = self.situation.as_deref().map(name) else {
            return write!(f, "{id}, last active {active}");
        };
        let user = self.user.as_deref().map_or_else(|| "somebody unknown".to_owned(), name);
        let channel = self.channel.as_deref().map_or_else(|| "no channel".to_owned(), name);
        write!(f, "{id}: {user} at {channel}, {situation}, last active {active}")
    }
}
