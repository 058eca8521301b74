//! A request to a model. The order of all parts is preserved: more stable parts come first.

use std::sync::Arc;

use foreword_prompt::prompt::CacheClass;
use foreword_prompt::tool::ToolSpec;

use crate::message::ContentBlock;
use crate::models::{Breakpoints, ModelId};
use crate::price::CacheTtl;

/// A request to a model. A dialect writes tools, system and messages in this order and never changes what it wrote for
/// an earlier request of the same epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The model.
    pub model: ModelId,
    /// The available tools, in the order they are sent.
    pub tools: Arc<[ToolSpec]>,
    /// The system prompt, the most stable block first.
    pub system: Vec<SystemBlock>,
    /// The conversation; the last message is the one to answer.
    pub messages: Vec<RequestMessage>,
    /// The maximum number of output tokens, if limited.
    pub max_output: Option<usize>,
    /// What the provider is asked to cache.
    pub cache: CachePlan,
}

/// A block of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    /// The exact text; never empty.
    pub text: Arc<str>,
    /// How long it stays the same. [`CacheClass::None`] is the context of one turn and comes last.
    pub class: CacheClass,
    /// The size in tokens.
    pub tokens: usize,
}

/// The role of a message in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestRole {
    /// The user; also Foreword's context and notices.
    User,
    /// The agent.
    Assistant,
    /// Tool results: all results of one answer together, right after it.
    Tool,
}

/// A message of a request. A `Tool` message may also contain text, the placeholder of withheld results.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestMessage {
    /// The author's role.
    pub role: RequestRole,
    /// The content; never empty.
    pub content: Vec<ContentBlock>,
}

/// What the provider is asked to cache. The dialect converts it to markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachePlan {
    /// How cache breakpoints are set.
    pub breakpoints: Breakpoints,
    /// The smallest prefix it caches, in tokens; 0 if unknown.
    pub min_cacheable: usize,
    /// The time to live of the prefix that conversations share; a conversation's own part has five minutes.
    pub ttl: CacheTtl,
    /// A key shared by requests with the same prefix, for providers that route by it.
    pub key: Option<Arc<str>>,
    /// Whether the provider is asked to explain cache misses.
    pub diagnostics: Diagnostics,
}

impl CachePlan {
    /// A plan without markers, for unknown providers.
    pub const NONE: Self = Self {
        breakpoints: Breakpoints::None,
        min_cacheable: 0,
        ttl: CacheTtl::FiveMinutes,
        key: None,
        diagnostics: Diagnostics::Off,
    };
}

/// Whether a provider that can compare requests is asked to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Diagnostics {
    /// Not asked.
    #[default]
    Off,
    /// Store this request for a later comparison, and compare it with the request of this earlier answer, if any.
    Compare(Option<Arc<str>>),
}
