//! Conversations as they are told.

use foreword_core::message::Usage;
use foreword_core::money::{Money, Price};
use foreword_core::timestamp::Timestamp;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::conversations::Conversation;
use foreword_store::extents::Extent;
use foreword_store::metrics::ConversationMetrics;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ConversationBody {
    /// Its id.
    #[schema(example = "c-00064bb1f0a2c4d1e2f3a4b5c6")]
    pub(super) id: String,
    /// The agent that talks in it.
    agent: String,
    /// The user who began it, by name, if it is somebody known.
    user: Option<String>,
    /// Where it takes place.
    channel: Option<String>,
    /// The situation.
    #[schema(example = "dm")]
    situation: String,
    /// A name for people.
    title: Option<String>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When something was last said in it.
    #[schema(value_type = String, format = DateTime)]
    last_activity_at: Timestamp,
    /// How much there is of it; for the owner, of one conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extent: Option<ExtentBody>,
    /// What it has taken so far; of one conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metrics: Option<MetricsBody>,
    /// Instructions for this conversation alone; of one conversation, for whoever may change them.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_instructions: Option<String>,
    /// The working directory, relative to the workspace or absolute; of one conversation, for whoever may change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// Values for templates; of one conversation, for whoever may change them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    context: Option<Map<String, Value>>,
}

impl ConversationBody {
    /// Shows the settings too.
    pub(super) fn show(&mut self, settings: ConversationSettings) {
        self.session_instructions = settings.session_instructions;
        self.cwd = settings.cwd;
        self.context = settings.context;
    }
}

impl From<Conversation> for ConversationBody {
    fn from(one: Conversation) -> Self {
        Self {
            id: one.id.to_string(),
            agent: one.agent,
            user: one.user,
            channel: one.channel,
            situation: one.situation,
            title: one.title,
            created_at: one.created_at,
            last_activity_at: one.last_activity_at,
            extent: None,
            metrics: None,
            session_instructions: None,
            cwd: None,
            context: None,
        }
    }
}

/// How much there is of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ExtentBody {
    /// How many messages were written.
    messages: u64,
    /// How many of them a summary stands for.
    covered: u64,
    /// What it weighs, as its last answer reported.
    tokens: u64,
    /// How often it was compacted.
    compactions: u64,
    /// How many epochs its prompt has had.
    epochs: u64,
}

impl From<Extent> for ExtentBody {
    fn from(extent: Extent) -> Self {
        let Extent { messages, covered, compactions, epochs, weight } = extent;
        Self { messages, covered, tokens: weight, compactions, epochs }
    }
}

/// What a conversation has taken so far, as far as the caller's trust permits its turns. Tool calls, tokens and cost are sums of
/// events, and no longer include events that retention has deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MetricsBody {
    /// Its turns.
    turns: u64,
    /// Calls of tools.
    tool_calls: u64,
    /// How long its turns took together, in milliseconds.
    duration_ms: u64,
    /// Tokens read, from wherever.
    tokens_in: u64,
    /// Tokens written.
    tokens_out: u64,
    /// What it cost, in US dollars; `null` if the price of a call is not known.
    cost_usd: Option<f64>,
}

impl From<ConversationMetrics> for MetricsBody {
    fn from(metrics: ConversationMetrics) -> Self {
        let ConversationMetrics { turns, tool_calls, duration_ms, tokens_in, tokens_out, cost } = metrics;
        Self { turns, tool_calls, duration_ms, tokens_in, tokens_out, cost_usd: cost.map(Money::dollars) }
    }
}

/// What calls to a model took, in tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UsageBody {
    /// Read, and in no cache.
    input: u64,
    /// Written by the model.
    output: u64,
    /// Read from the provider's cache.
    cache_read: u64,
    /// Written to it.
    cache_write: u64,
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, .. } = usage;
        Self { input, output, cache_read, cache_write }
    }
}

/// A history that is shorter now.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Shortened {
    /// How many messages the summary stands for.
    removed: usize,
    /// What the summary says.
    summary: String,
    /// What it took.
    usage: UsageBody,
    /// What that cost, in US dollars; `null` if nobody knows.
    #[schema(value_type = Option<f64>)]
    cost: Price,
}

impl From<foreword_agent::compaction::Shortened> for Shortened {
    fn from(shortened: foreword_agent::compaction::Shortened) -> Self {
        let foreword_agent::compaction::Shortened { removed, summary, usage, cost } = shortened;
        Self { removed, summary, usage: usage.into(), cost }
    }
}
