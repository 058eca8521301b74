//! Encodes requests for OpenAI. The messages are last: without its cache breakpoints and closing brackets, each request
//! is a prefix of the next one.

use std::borrow::Cow;

use foreword_core::message::ContentBlock;
use foreword_core::model::breakpoints::{self, BreakpointPositions, MessageShape};
use foreword_core::model::{ModelRequest, RequestMessage, RequestRole};
use foreword_core::models::Breakpoints;
use foreword_core::price::CacheTtl;
use foreword_core::tools::ParametersSchema;
use foreword_prompt::tool::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::super::anthropic::CacheControl;
use super::super::json_length::json_length;
use super::super::sanitize;
use super::REASONING;

/// The maximum length of `prompt_cache_key`.
const MAX_KEY: usize = 64;

/// How many of the four breakpoints we may set when the provider sets one itself at the end of the conversation.
const MAX_OWN_BREAKPOINTS: usize = 3;

/// The separator between two texts of one message.
const TEXT_SEPARATOR: &str = "\n\n";

/// The request field that limits the output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputLimit {
    /// `max_tokens`: the older name, accepted by most servers.
    MaxTokens,
    /// `max_completion_tokens`: required by OpenAI's own models.
    MaxCompletionTokens,
}

/// The body of a request.
#[must_use]
pub fn encode(request: &ModelRequest, limit: OutputLimit) -> Vec<u8> {
    let mut tools: Vec<&ToolSpec> = request.tools.iter().collect();
    tools.sort_by_key(|tool| &tool.name);
    let limit_if = |wanted| request.max_output.filter(|_| limit == wanted);
    let key = request.cache.key.as_deref().filter(|_| request.cache.breakpoints != Breakpoints::None);
    let mut messages: Vec<Message<'_>> = system(request).into_iter().collect();
    let system_messages = messages.len();
    for message in &request.messages {
        add(message, request.cache.breakpoints, &mut messages);
    }
    let mut body = Body {
        model: request.model.name(),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens: limit_if(OutputLimit::MaxTokens),
        max_completion_tokens: limit_if(OutputLimit::MaxCompletionTokens),
        prompt_cache_key: key.map(|key| key.chars().take(MAX_KEY).collect()),
        tools: tools.into_iter().map(Tool::new).collect(),
        messages,
    };
    body.mark(request, system_messages);
    // Texts and JSON values in a fixed shape: writing them to memory can't fail.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: ParametersSchema<'a>,
}

#[derive(Serialize)]
struct Message<'a> {
    #[serde(serialize_with = "role")]
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: Content<'a>,
    #[serde(flatten)]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

/// The model's reasoning, in the field in which the server sent it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Reasoning<'a> {
    ReasoningContent(&'a str),
    Reasoning(&'a str),
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    System,
    Said(RequestRole),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Nothing,
    Words(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
struct Part<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_breakpoint: Option<Breakpoint>,
}

#[derive(Serialize)]
struct Breakpoint {
    mode: &'static str,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    arguments: String,
}

impl Body<'_> {
    /// Sets cache breakpoints. A provider that caches automatically and by breakpoint sets the one at the end of the
    /// conversation itself. A provider that caches only by breakpoint gets Anthropic's `cache_control`, which gateways
    /// pass on.
    fn mark(&mut self, request: &ModelRequest, system_messages: usize) {
        let tools = self.tools.iter().map(Tool::bytes).sum();
        let (system, said) = self.messages.split_at_mut(system_messages);
        let system: Vec<&mut Part<'_>> =
            system.iter_mut().flat_map(|message| message.content.parts()).collect();
        match request.cache.breakpoints {
            Breakpoints::Automatic | Breakpoints::None => {}
            Breakpoints::Either => {
                let marked = breakpoints::system(request, tools, MAX_OWN_BREAKPOINTS);
                for (at, part) in system.into_iter().enumerate() {
                    let is_marked = marked.iter().any(|(marked, _)| *marked == at);
                    part.prompt_cache_breakpoint = is_marked.then_some(Breakpoint { mode: "explicit" });
                }
            }
            Breakpoints::Explicit => {
                let shapes: Vec<MessageShape> = said.iter().map(Message::shape).collect();
                let marked: BreakpointPositions =
                    breakpoints::choose(request, tools, &shapes, || said.iter().map(Message::bytes).sum());
                for (at, part) in system.into_iter().enumerate() {
                    let mark = marked.system.iter().find(|(marked, _)| *marked == at);
                    part.cache_control = mark.map(|(_, ttl)| CacheControl::new(*ttl));
                }
                for (message, block) in marked.messages {
                    if let Some(part) = said[message].content.parts().get_mut(block) {
                        part.cache_control = Some(CacheControl::new(CacheTtl::FiveMinutes));
                    }
                }
            }
        }
    }
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let parameters = ParametersSchema::of(tool);
        Self {
            kind: "function",
            function: Function { name: &tool.name, description: &tool.description, parameters },
        }
    }

    fn bytes(&self) -> usize {
        let Function { name, description, parameters } = &self.function;
        name.len() + description.len() + json_length(parameters)
    }
}

impl Message<'_> {
    fn shape(&self) -> MessageShape {
        let role = match self.role {
            Role::System => RequestRole::User,
            Role::Said(role) => role,
        };
        let blocks = match &self.content {
            Content::Nothing | Content::Words(_) => vec![false],
            Content::Parts(parts) => vec![true; parts.len()],
        };
        // Gateways convert each call into one block.
        MessageShape { role, blocks: [blocks, vec![false; self.tool_calls.len()]].concat() }
    }

    fn bytes(&self) -> usize {
        let said = match &self.content {
            Content::Nothing => 0,
            Content::Words(words) => words.len(),
            Content::Parts(parts) => parts.iter().map(|part| part.text.len()).sum(),
        };
        let calls =
            self.tool_calls.iter().map(|call| call.function.name.len() + call.function.arguments.len());
        said + calls.sum::<usize>()
    }
}

impl<'a> Content<'a> {
    /// Text as content parts if the model supports breakpoints, otherwise as a string.
    fn new(words: Cow<'a, str>, breakpoints: Breakpoints) -> Self {
        match breakpoints {
            Breakpoints::Explicit => Self::Parts(vec![Part::new(words)]),
            Breakpoints::Either | Breakpoints::Automatic | Breakpoints::None => Self::Words(words),
        }
    }

    fn parts(&mut self) -> &mut [Part<'a>] {
        match self {
            Self::Parts(parts) => parts,
            Self::Nothing | Self::Words(_) => &mut [],
        }
    }
}

impl<'a> Part<'a> {
    fn new(text: Cow<'a, str>) -> Self {
        Self { kind: "text", text, cache_control: None, prompt_cache_breakpoint: None }
    }
}

/// The system prompt. Its blocks include their separators.
fn system(request: &ModelRequest) -> Option<Message<'_>> {
    let blocks = &request.system;
    let content = match request.cache.breakpoints {
        Breakpoints::Explicit | Breakpoints::Either => {
            Content::Parts(blocks.iter().map(|block| Part::new(Cow::Borrowed(&block.text))).collect())
        }
        Breakpoints::Automatic | Breakpoints::None => {
            Content::Words(blocks.iter().map(|block| &*block.text).collect())
        }
    };
    (!blocks.is_empty()).then(|| Message::of(Role::System, content))
}

impl<'a> Message<'a> {
    fn of(role: Role, content: Content<'a>) -> Self {
        Self { role, tool_call_id: None, content, reasoning: None, tool_calls: Vec::new() }
    }
}

/// Appends a message: the tool results one by one, then the text.
fn add<'a>(message: &'a RequestMessage, breakpoints: Breakpoints, messages: &mut Vec<Message<'a>>) {
    let mut said = Message::of(Role::Said(message.role), Content::Nothing);
    let mut words: Cow<'a, str> = Cow::Borrowed("");
    let mut has_results = false;
    for block in &message.content {
        match block {
            ContentBlock::Text { text } if words.is_empty() => words = Cow::Borrowed(text),
            ContentBlock::Text { text } => {
                let words = words.to_mut();
                words.push_str(TEXT_SEPARATOR);
                words.push_str(text);
            }
            ContentBlock::ToolCall { id, name, input } => said.tool_calls.push(Call {
                id: id.as_str(),
                kind: "function",
                function: Called {
                    name: sanitize::tool_name(name),
                    arguments: sanitize::as_object(input).to_string(),
                },
            }),
            ContentBlock::ToolResult { call, content, .. } => {
                has_results = true;
                let content = Content::new(Cow::Borrowed(content), breakpoints);
                let result = Message::of(Role::Said(RequestRole::Tool), content);
                messages.push(Message { tool_call_id: Some(call.as_str()), ..result });
            }
            ContentBlock::Other(value) => said.reasoning = said.reasoning.take().or_else(|| reasoning(value)),
        }
    }
    match message.role {
        RequestRole::Assistant => {
            let speaks = !words.is_empty();
            if speaks {
                said.content = Content::Words(words);
            }
            // Skip a message that contains only another provider's reasoning.
            if speaks || !said.tool_calls.is_empty() {
                messages.push(said);
            }
        }
        RequestRole::User | RequestRole::Tool if words.is_empty() && has_results => {}
        RequestRole::User | RequestRole::Tool => {
            messages.push(Message::of(Role::Said(RequestRole::User), Content::new(words, breakpoints)));
        }
    }
}

fn reasoning(value: &Value) -> Option<Reasoning<'_>> {
    let text = value["text"].as_str().filter(|_| value["type"] == REASONING)?;
    Some(if value["field"] == "reasoning" {
        Reasoning::Reasoning(text)
    } else {
        Reasoning::ReasoningContent(text)
    })
}

fn role<S: serde::Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match role {
        Role::System => "system",
        Role::Said(RequestRole::User) => "user",
        Role::Said(RequestRole::Assistant) => "assistant",
        Role::Said(RequestRole::Tool) => "tool",
    })
}
