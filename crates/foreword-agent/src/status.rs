//! How the agent is running right now. The owner sees every channel and conversation; everybody else sees the
//! conversation they are in. Never says where anything is kept, only in what kind of store.

mod layers;
mod standing;

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

use crate::failing_sources::{FailingSource, failing_sources};
use crate::tools::event_line::{event_line, has_free_text, is_a_name, moment};
use crate::tools::limits::counted;
use crate::viewer::Viewer;

pub use layers::LayerStatus;
pub use standing::{BudgetStanding, NextFiring, Standing, ToolServer};

/// What counts as now.
const LATELY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many events of a kind, and how many conversations, are looked at.
const LOOKED_AT: u32 = 1_000;
/// How many conversations are listed.
const LISTED: usize = 10;
/// How many errors are shown.
const ERRORS: usize = 10;
/// How much of a name is shown.
const NAME_CHARS: usize = 120;

/// How things stand. As text it is what a model reads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// When.
    pub now: Timestamp,
    /// What only the owner sees.
    #[serde(flatten)]
    pub whole: Option<Whole>,
    /// The conversation that whoever looks is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Talk>,
    /// How many observations are in each store that is open here. Of the others not even a number is told.
    pub memory: BTreeMap<MemoryStore, u64>,
    /// The layers of the prompt that whoever looks may know of.
    pub layers: Vec<LayerStatus>,
    /// The latest errors that may be seen, the last first.
    pub errors: Vec<Event>,
}

/// What only the owner sees.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Whole {
    /// The node that looks, if it is one that runs turns: `None` inside if nobody knows which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Option<String>>,
    /// In what kind of store everything is kept; `None` if nothing was ever stored.
    pub store: Option<StoreKind>,
    /// The channels of the last 24 hours, by name.
    pub channels: BTreeMap<Arc<str>, Channel>,
    /// The conversations of the last 24 hours.
    pub conversations: Active,
    /// The prompt sources that can't be read or rendered.
    pub sources: Vec<FailingSource>,
    /// What it spends, what comes next, what it relies on.
    #[serde(flatten)]
    pub standing: Standing,
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

/// What is known of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Channel {
    /// When the last message came in or went out.
    pub last_message: Option<Timestamp>,
    /// How many errors there were.
    pub errors: usize,
}

/// Conversations that are going on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Active {
    /// How many.
    pub count: usize,
    /// Whether there may be more: no more were looked at.
    pub or_more: bool,
    /// The first of them, the last one active first.
    pub listed: Vec<Talk>,
}

/// A conversation in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Talk {
    /// Its id.
    pub id: String,
    /// Whose it is, if that is known.
    pub user: Option<String>,
    /// Where it began.
    pub channel: Option<String>,
    /// In what kind of place, if whoever asks may know.
    pub situation: Option<String>,
    /// When something last happened in it.
    pub last_activity_at: Timestamp,
}

impl Talk {
    /// Who began it, and where, is told to nobody else: it may have been at a higher trust.
    fn told_to(self, viewer: &Viewer) -> Self {
        if viewer.user.is_some() && self.user.as_deref() == viewer.user.as_deref() {
            return self;
        }
        Self { user: None, channel: None, situation: None, ..self }
    }

    /// What people, or those who bring their messages, have called things.
    fn names(&self) -> impl Iterator<Item = &str> {
        [self.user.as_deref(), self.channel.as_deref(), self.situation.as_deref()].into_iter().flatten()
    }
}

impl Status {
    /// How things stand in `workspace`, as far as `viewer` may see it, under `config`.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn seen_by(
        viewer: &Viewer,
        workspace: &Arc<Workspace>,
        config: &Config,
    ) -> Result<Self, StoreError> {
        let (mut whole, mut conversation) = (None, None);
        if viewer.sees_everything() {
            whole = Some(Whole {
                node: node(viewer).await?,
                store: Some(kind(&viewer.store)),
                channels: channels(viewer).await?,
                conversations: conversations(viewer).await?,
                sources: failing_sources(workspace, Some(&viewer.store), zoned(viewer)).await?,
                standing: Standing::seen_by(viewer, config).await?,
            });
        } else if let Some(id) = &viewer.conversation {
            conversation =
                viewer.store.conversation(id).await?.map(|found| Talk::from(found).told_to(viewer));
        }
        let memory = viewer.store.count_observations(&MemoryStore::permitted(viewer.trust)).await?;
        let errors = EventFilter { levels: vec![Level::Error], ..EventFilter::default() };
        let errors = viewer.newest(errors, ERRORS).await?;
        let layers = layers::seen_by(viewer, config).await?;
        Ok(Self { now: viewer.now, whole, conversation, memory, layers, errors })
    }

    /// How things stand under `config` where nothing was ever stored.
    #[must_use]
    pub fn before_anything(now: Timestamp, trust: Trust, config: &Config) -> Self {
        let whole = trust.permits(Trust::Full).then(|| Whole {
            node: None,
            store: None,
            channels: BTreeMap::new(),
            conversations: Active::default(),
            sources: Vec::new(),
            standing: Standing::before_anything(),
        });
        let memory = MemoryStore::permitted(trust).into_iter().map(|store| (store, 0)).collect();
        let layers = layers::permitted(config, trust, &[]);
        Self { now, whole, conversation: None, memory, layers, errors: Vec::new() }
    }

    /// Whether words that somebody outside may have written are in it.
    #[must_use]
    pub fn has_free_text(&self) -> bool {
        let whole = self.whole.iter();
        let channels = whole.clone().flat_map(|whole| whole.channels.keys().map(|name| &**name));
        let talks = whole.flat_map(|whole| &whole.conversations.listed).chain(&self.conversation);
        let mut names = channels.chain(talks.flat_map(Talk::names));
        // Names that others gave themselves may say more than a name does.
        self.errors.iter().any(has_free_text) || !names.all(is_a_name)
    }
}

/// When the viewer looks, where they are.
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

/// Where the store is, is nobody's business in a conversation.
fn kind(store: &Store) -> StoreKind {
    if store.location().path().is_some() { StoreKind::Sqlite } else { StoreKind::Postgres }
}

async fn channels(viewer: &Viewer) -> Result<BTreeMap<Arc<str>, Channel>, StoreError> {
    let mut channels: BTreeMap<Arc<str>, Channel> = BTreeMap::new();
    for event_type in [EventType::MessageReceived, EventType::MessageSent, EventType::ChannelError] {
        let filter = EventFilter {
            event_type: Some(event_type.clone()),
            since: Some(viewer.now.minus(LATELY)),
            ..EventFilter::default()
        };
        for stored in viewer.store.events(&filter, &EventPage::newest(u64::from(LOOKED_AT))).await? {
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
    let found = viewer.store.conversations(ConversationPage::first(LOOKED_AT)).await?;
    let since = viewer.now.minus(LATELY);
    let active: Vec<Conversation> = found.into_iter().filter(|one| one.last_activity_at >= since).collect();
    let (count, or_more) = (active.len(), active.len() >= LOOKED_AT as usize);
    Ok(Active { count, or_more, listed: active.into_iter().take(LISTED).map(Talk::from).collect() })
}

impl From<Conversation> for Talk {
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

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "now {}", moment(self.now))?;
        if let Some(whole) = &self.whole {
            write!(f, "{whole}")?;
        }
        if let Some(talk) = &self.conversation {
            write!(f, "\nthis conversation: {talk}")?;
        }
        let counts = self.memory.iter().map(|(store, count)| format!("{} {count}", store.as_str()));
        match counts.collect::<Vec<_>>().as_slice() {
            [] => f.write_str("\nmemory: none here")?,
            counts => write!(f, "\nmemory, observations: {}", counts.join(", "))?,
        }
        if let Some(at) = self.whole.as_ref().and_then(|whole| whole.standing.memory_kept_at) {
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

impl fmt::Display for Whole {
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
        write!(f, "{}", self.standing)
    }
}

impl fmt::Display for Active {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_more = if self.or_more { " or more" } else { "" };
        let count = with_thousands(self.count);
        write!(f, "\nconversations active in the last 24 hours: {count}{or_more}")?;
        self.listed.iter().try_for_each(|talk| write!(f, "\n- {talk}"))?;
        if self.count > self.listed.len() {
            write!(f, "\n- and {} more", with_thousands(self.count - self.listed.len()))?;
        }
        Ok(())
    }
}

impl fmt::Display for Talk {
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
