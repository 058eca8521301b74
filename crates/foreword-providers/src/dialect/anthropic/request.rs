//! A request as Anthropic reads it. The order of the fields is the order of what is cached, and the messages stand last:
//! without its marks and its closing brackets, a request is the beginning of the next one.

use std::borrow::Cow;

use foreword_core::message::ContentBlock;
use foreword_core::model::marks::{self, Marks, Shape};
use foreword_core::model::{Diagnostics, ModelRequest, RequestMessage, RequestRole};
use foreword_core::models::Breakpoints;
use foreword_core::price::CacheTtl;
use foreword_core::tools::ParametersSchema;
use foreword_prompt::tool::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::super::json_length::json_length;
use super::super::{odd_values, openai_chat};

/// The most tokens an answer may have if nobody says: the interface wants a number.
const DEFAULT_MAX_TOKENS: usize = 8192;

/// What stands for a message in which nothing is left to say; an empty one would be refused.
const NOTHING_SAID: &str = "(empty)";

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

/// A first request says that there is none before it.
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
    Theirs(&'a Value),
}

/// A mark: up to here, for so long.
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
        let shapes: Vec<Shape> = self.messages.iter().map(Message::shape).collect();
        let Marks { system, messages } =
            marks::choose(request, tools, &shapes, || self.messages.iter().map(Message::bytes).sum());
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
    /// The message, if anything is left of it.
    fn new(message: &'a RequestMessage) -> Option<Self> {
        let role = message.role;
        let (mut content, words): (Vec<_>, Vec<_>) =
            message.content.iter().filter_map(|block| Block::new(block, role)).partition(|block| {
                role == RequestRole::Assistant || matches!(block, Block::ToolResult { .. })
            });
        // Results come first: Anthropic looks for them right behind the calls.
        content.extend(words);
        if content.is_empty() && role != RequestRole::Assistant {
            content.push(Block::text(NOTHING_SAID));
        }
        (!content.is_empty()).then_some(Self { role, content })
    }

    fn shape(&self) -> Shape {
        let blocks = self.content.iter().map(|block| !matches!(block, Block::Theirs(_))).collect();
        Shape { role: self.role, blocks }
    }

    fn bytes(&self) -> usize {
        self.content.iter().map(Block::bytes).sum()
    }
}

impl<'a> Block<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { text, cache_control: None }
    }

    /// The block as it is sent, unless Anthropic would refuse it.
    fn new(block: &'a ContentBlock, role: RequestRole) -> Option<Self> {
        Some(match block {
            ContentBlock::Text { text } if text.trim().is_empty() => return None,
            ContentBlock::Text { text } => Self::text(text),
            ContentBlock::ToolCall { id, name, input } => Self::ToolUse {
                id: odd_values::call_id(id.as_str()),
                name: odd_values::tool_name(name),
                input: odd_values::as_object(input),
                cache_control: None,
            },
            ContentBlock::ToolResult { call, content, is_error } => Self::ToolResult {
                tool_use_id: odd_values::call_id(call.as_str()),
                content,
                is_error: *is_error,
                cache_control: None,
            },
            ContentBlock::Other(value) => {
                let ours = role == RequestRole::Assistant && may_have_come_from_anthropic(value);
                return ours.then_some(Self::Theirs(value));
            }
        })
    }

    fn mark(&mut self, mark: CacheControl) {
        match self {
            Self::Text { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(mark),
            Self::Theirs(_) => {}
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
            Self::Theirs(value) => json_length(value),
        }
    }
}

/// Whether `block` is something this dialect gives out. What another provider left in the history, or a block that only
/// looks like one of ours, would be refused, and the conversation with it.
fn may_have_come_from_anthropic(block: &Value) -> bool {
    match block["type"].as_str() {
        None | Some("text" | "tool_use" | "tool_call" | "tool_result" | openai_chat::REASONING) => false,
        // Thoughts that nobody signed come from a server that only speaks like Anthropic.
        Some("thinking") => block["signature"].as_str().is_some_and(|signature| !signature.is_empty()),
        Some(_) => true,
    }
}

fn role<S: serde::Serializer>(role: &RequestRole, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match role {
        RequestRole::Assistant => "assistant",
        // Results of tools are something the model is told.
        RequestRole::User | RequestRole::Tool => "user",
    })
}
