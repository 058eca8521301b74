//! Encodes requests for Anthropic. The field order is the order in which Anthropic caches, with the messages last:
//! without its cache breakpoints and closing brackets, each request is a prefix of the next one.

use std::borrow::Cow;

use foreword_core::message::ContentBlock;
use foreword_core::model::breakpoints::{self, BreakpointPositions, MessageShape};
use foreword_core::model::{Diagnostics, ModelRequest, RequestMessage, RequestRole};
use foreword_core::models::Breakpoints;
use foreword_core::price::CacheTtl;
use foreword_core::tools::ParametersSchema;
use foreword_prompt::tool::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::super::json_length::json_length;
use super::super::{openai_chat, sanitize};

/// `max_tokens` when the request sets none: the API requires a number.
const DEFAULT_MAX_TOKENS: usize = 8192;

/// Replaces the content of an empty message, which the API would reject.
const EMPTY_MESSAGE: &str = "(empty)";

/// The body of a request.
#[must_use]
pub fn encode(request: &ModelRequest) -> Vec<u8> {
    let mut tools: Vec<Tool<'_>> = request.tools.iter().map(Tool::new).collect();
    tools.sort_by_key(|tool| tool.name);
    let mut body = Body {
        model: request.model.name(),
        max_tokens: request.max_output.unwrap_or(DEFAULT_MAX_TOKENS),
        stream: true,
        diagnostics: match &request.cache.diagnostics {
            Diagnostics::Off => None,
            Diagnostics::Compare(previous) => Some(Compared { previous_message_id: previous.as_deref() }),
        },
        tools,
        system: request.system.iter().map(|block| Block::text(&block.text)).collect(),
        messages: request.messages.iter().filter_map(Message::new).collect(),
    };
    if matches!(request.cache.breakpoints, Breakpoints::Explicit | Breakpoints::Either) {
        body.mark(request);
    }
    body.system.retain(|block| !block.is_blank());
    // Texts and JSON values in a fixed shape: writing them to memory can't fail.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: usize,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<Compared<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
}

/// `null` in the first request of a conversation.
#[derive(Serialize)]
struct Compared<'a> {
    previous_message_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: ParametersSchema<'a>,
}

#[derive(Serialize)]
struct Message<'a> {
    #[serde(serialize_with = "role")]
    role: RequestRole,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    #[serde(untagged)]
    Opaque(&'a Value),
}

/// A cache breakpoint with its TTL.
#[derive(Debug, Clone, Copy, Serialize)]
pub(in super::super) struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl CacheControl {
    pub(in super::super) fn new(ttl: CacheTtl) -> Self {
        let ttl = match ttl {
            CacheTtl::FiveMinutes => None,
            CacheTtl::OneHour => Some("1h"),
        };
        Self { kind: "ephemeral", ttl }
    }
}

impl Body<'_> {
    fn mark(&mut self, request: &ModelRequest) {
        let tools = self.tools.iter().map(Tool::bytes).sum();
        let shapes: Vec<MessageShape> = self.messages.iter().map(Message::shape).collect();
        let BreakpointPositions { system, messages } =
            breakpoints::choose(request, tools, &shapes, || self.messages.iter().map(Message::bytes).sum());
        for (block, ttl) in system {
            self.system[block].mark(CacheControl::new(ttl));
        }
        for (message, block) in messages {
            self.messages[message].content[block].mark(CacheControl::new(CacheTtl::FiveMinutes));
        }
    }
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        Self { name: &tool.name, description: &tool.description, input_schema: ParametersSchema::of(tool) }
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + json_length(&self.input_schema)
    }
}

impl<'a> Message<'a> {
    /// The message, or `None` if no content is left.
    fn new(message: &'a RequestMessage) -> Option<Self> {
        let role = message.role;
        let (mut content, words): (Vec<_>, Vec<_>) =
            message.content.iter().filter_map(|block| Block::new(block, role)).partition(|block| {
                role == RequestRole::Assistant || matches!(block, Block::ToolResult { .. })
            });
        // Tool results come first: Anthropic requires them directly after the calls.
        content.extend(words);
        if content.is_empty() && role != RequestRole::Assistant {
            content.push(Block::text(EMPTY_MESSAGE));
        }
        (!content.is_empty()).then_some(Self { role, content })
    }

    fn shape(&self) -> MessageShape {
        let blocks = self.content.iter().map(|block| !matches!(block, Block::Opaque(_))).collect();
        MessageShape { role: self.role, blocks }
    }

    fn bytes(&self) -> usize {
        self.content.iter().map(Block::bytes).sum()
    }
}

impl<'a> Block<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { text, cache_control: None }
    }

    /// The block as it is sent, or `None` if Anthropic would reject it.
    fn new(block: &'a ContentBlock, role: RequestRole) -> Option<Self> {
        Some(match block {
            ContentBlock::Text { text } if text.trim().is_empty() => return None,
            ContentBlock::Text { text } => Self::text(text),
            ContentBlock::ToolCall { id, name, input } => Self::ToolUse {
                id: sanitize::call_id(id.as_str()),
                name: sanitize::tool_name(name),
                input: sanitize::as_object(input),
                cache_control: None,
            },
            ContentBlock::ToolResult { call, content, is_error } => Self::ToolResult {
                tool_use_id: sanitize::call_id(call.as_str()),
                content,
                is_error: *is_error,
                cache_control: None,
            },
            ContentBlock::Other(value) => {
                let ours = role == RequestRole::Assistant && may_have_come_from_anthropic(value);
                return ours.then_some(Self::Opaque(value));
            }
        })
    }

    fn mark(&mut self, mark: CacheControl) {
        match self {
            Self::Text { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(mark),
            Self::Opaque(_) => {}
        }
    }

    fn is_blank(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.trim().is_empty())
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text { text, .. } => text.len(),
            Self::ToolUse { name, input, .. } => name.len() + json_length(input),
            Self::ToolResult { content, .. } => content.len(),
            Self::Opaque(value) => json_length(value),
        }
    }
}

/// Whether `block` is a content block of this dialect. Anthropic rejects the whole request if it contains a block of
/// another provider, or one that only resembles its own.
fn may_have_come_from_anthropic(block: &Value) -> bool {
    match block["type"].as_str() {
        None | Some("text" | "tool_use" | "tool_call" | "tool_result" | openai_chat::REASONING) => false,
        // Unsigned thinking blocks come from a server that only imitates the API.
        Some("thinking") => block["signature"].as_str().is_some_and(|signature| !signature.is_empty()),
        Some(_) => true,
    }
}

fn role<S: serde::Serializer>(role: &RequestRole, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match role {
        RequestRole::Assistant => "assistant",
        // Tool results are sent with the role `user`.
        RequestRole::User | RequestRole::Tool => "user",
    })
}
