//! The JSON of conversations.

use foreword_core::message::Usage;
use foreword_core::money::{Money, Price};
use foreword_core::template_context::TemplateContext;
use foreword_core::timestamp::Timestamp;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::conversation_size::ConversationSize;
use foreword_store::conversations::Conversation;
use foreword_store::metrics::ConversationMetrics;
use serde::Serialize;
use utoipa::ToSchema;

/// A conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConversationBody {
    /// Its id.
    #[schema(example = "c-00064bb1f0a2c4d1e2f3a4b5c6")]
    pub(super) id: String,
    /// The agent.
    agent: String,
    /// The user who started it, if known.
    user: Option<String>,
    /// The channel.
    channel: Option<String>,
    /// The situation.
    #[schema(example = "dm")]
    situation: String,
    /// The title.
    title: Option<String>,
    /// When it was created.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When the last message was sent.
    #[schema(value_type = String, format = DateTime)]
    last_activity_at: Timestamp,
    /// The size; for the owner, of a single conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extent: Option<ExtentBody>,
    /// The usage so far; of a single conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metrics: Option<MetricsBody>,
    /// Instructions for this conversation only; of a single conversation, if the caller may change them.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_instructions: Option<String>,
    /// The working directory, relative to the workspace or absolute; of a single conversation, if the caller may change
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// Values for templates; of a single conversation, if the caller may change them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    context: Option<TemplateContext>,
}

impl ConversationBody {
    /// Adds the settings.
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

/// The size of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExtentBody {
    /// Number of messages.
    messages: u64,
    /// Number of messages replaced by a summary.
    covered: u64,
    /// Size in tokens, as reported with the last answer.
    tokens: u64,
    /// Number of compactions.
    compactions: u64,
    /// Number of prompt epochs.
    epochs: u64,
}

impl From<ConversationSize> for ExtentBody {
    fn from(extent: ConversationSize) -> Self {
        let ConversationSize { messages, covered, compactions, epochs, tokens } = extent;
        Self { messages, covered, tokens, compactions, epochs }
    }
}

/// The usage of a conversation, in turns that the caller's trust permits. Tool calls, tokens and cost are sums of
/// events, without those deleted by retention.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MetricsBody {
    /// Number of turns.
    turns: u64,
    /// Number of tool calls.
    tool_calls: u64,
    /// Total duration of its turns, in milliseconds.
    duration_ms: u64,
    /// Input tokens, cached ones included.
    tokens_in: u64,
    /// Output tokens.
    tokens_out: u64,
    /// Cost in US dollars; `null` if a call has no known price.
    cost_usd: Option<f64>,
}

impl From<ConversationMetrics> for MetricsBody {
    fn from(metrics: ConversationMetrics) -> Self {
        let ConversationMetrics { turns, tool_calls, duration_ms, tokens_in, tokens_out, cost } = metrics;
        Self { turns, tool_calls, duration_ms, tokens_in, tokens_out, cost_usd: cost.map(Money::dollars) }
    }
}

/// Token usage of model calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsageBody {
    /// Input tokens not read from a cache.
    input: u64,
    /// Output tokens.
    output: u64,
    /// Input tokens read from the provider's cache.
    cache_read: u64,
    /// Input tokens written to the provider's cache.
    cache_write: u64,
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, .. } = usage;
        Self { input, output, cache_read, cache_write }
    }
}

/// A compacted history.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Shortened {
    /// Number of messages replaced by the summary.
    removed: usize,
    /// The summary.
    summary: String,
    /// The token usage of the summary.
    usage: UsageBody,
    /// Its cost in US dollars; `null` if unknown.
    #[schema(value_type = Option<f64>)]
    cost: Price,
}

impl From<foreword_agent::background::compaction::CompactionResult> for Shortened {
    fn from(shortened: foreword_agent::background::compaction::CompactionResult) -> Self {
        let foreword_agent::background::compaction::CompactionResult { removed, summary, usage, cost } =
            shortened;
        Self { removed, summary, usage: usage.into(), cost }
    }
}
