//! A request to a model. Everything in it has an order that is kept: what stands further in front changes less often.

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
    /// Which model.
    pub model: ModelId,
    /// The tools it may call, in the order they are sent.
    pub tools: Arc<[ToolSpec]>,
    /// The system prompt, the most stable block first.
    pub system: Vec<SystemBlock>,
    /// The conversation so far; the last one is what is to be answered.
    pub messages: Vec<RequestMessage>,
    /// The most tokens the answer may have, if there is a limit to set.
    pub max_output: Option<usize>,
    /// What the provider is asked to cache.
    pub cache: CachePlan,
}

/// A stretch of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    /// Its text, byte for byte; never empty.
    pub text: Arc<str>,
    /// How long it stays the same. [`CacheClass::None`] is a turn's own context and stands last.
    pub class: CacheClass,
    /// What it weighs.
    pub tokens: usize,
}

/// Who speaks in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestRole {
    /// Whoever talks to the agent; also Foreword's own context and notices.
    User,
    /// The agent.
    Assistant,
    /// Results of tools: all those of one answer together, right behind it.
    Tool,
}

/// A message of a request. A `Tool` message may also hold text: what is left of results that are withheld.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestMessage {
    /// Who speaks.
    pub role: RequestRole,
    /// What is said; never empty.
    pub content: Vec<ContentBlock>,
}

/// What the provider is asked to cache. Which markers that becomes is the dialect's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachePlan {
    /// How the provider is told, if at all.
    pub breakpoints: Breakpoints,
    /// The smallest prefix it caches, in tokens; 0 if nobody knows.
    pub min_cacheable: usize,
    /// How long what all conversations share is to be kept; the conversation's own part is kept for five minutes.
    pub ttl: CacheTtl,
    /// What requests that share a prefix have in common, for providers that route by it.
    pub key: Option<Arc<str>>,
    /// Whether the provider is asked why its cache was not read.
    pub diagnostics: Diagnostics,
}

impl CachePlan {
    /// A plan for a provider of which nothing is known: order alone.
    pub const NONE: Self = Self {
        breakpoints: Breakpoints::None,
        min_cacheable: 0,
        ttl: CacheTtl::FiveMinutes,
        key: None,
        diagnostics: Diagnostics::Off,
    };
}

/// What a provider that compares requests is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Diagnostics {
    /// Nothing.
    #[default]
    Off,
    /// To keep this request for a comparison, and to compare it with that of an earlier answer, if there was one.
    Compare(Option<Arc<str>>),
}
