//! Renders a prompt as the beginning of a provider request, for clients that send it themselves.

use foreword_core::model::breakpoints;
use foreword_core::models::Breakpoints;
use foreword_core::models::cache_limits::MAX_BREAKPOINTS;
use foreword_core::price::CacheTtl;
use foreword_core::tools::ParametersSchema;
use foreword_prompt::prompt::{Block, Prompt, TurnPlacement};
use foreword_prompt::tool::ToolSpec;
use foreword_workspace::build::Built;
use serde_json::{Value, json};

/// Maximum length of OpenAI's `prompt_cache_key`.
const MAX_CACHE_KEY_CHARS: usize = 64;

/// The system part of an Anthropic Messages request, with cache breakpoints.
#[must_use]
pub fn anthropic(built: &Built) -> Value {
    let prompt = &built.prompt;
    let system = system_blocks(built, |ttl| ("cache_control", cache_control(ttl)));
    let mut body = json!({ "model": model_name(built) });
    if let (TurnPlacement::Message, Some(turn)) = (prompt.placement, prompt.turn_context()) {
        body["messages"] = json!([{ "role": "user", "content": [{ "type": "text", "text": turn }] }]);
    }
    // Omit an empty system prompt.
    if !system.is_empty() {
        body["system"] = json!(system);
    }
    body
}

/// The blocks of the system prompt: the frozen text, then the turn context if it is placed there. `mark` returns the
/// key and value of a cache breakpoint.
fn system_blocks(built: &Built, mark: impl Fn(CacheTtl) -> (&'static str, Value)) -> Vec<Value> {
    let (prompt, marked) = (&built.prompt, marked_blocks(built));
    let block = |(index, block): (usize, &Block)| {
        let mut part = json!({ "type": "text", "text": &prompt.frozen.text[block.range.clone()] });
        if let Some((_, ttl)) = marked.iter().find(|(block, _)| *block == index) {
            let (key, value) = mark(*ttl);
            part[key] = value;
        }
        part
    };
    let mut blocks: Vec<Value> = prompt.frozen.blocks.iter().enumerate().map(block).collect();
    if prompt.placement == TurnPlacement::System {
        let turn = prompt.turn_context_after(&prompt.frozen.text);
        blocks.extend(turn.map(|turn| json!({ "type": "text", "text": turn })));
    }
    blocks
}

fn cache_control(ttl: CacheTtl) -> Value {
    match ttl {
        CacheTtl::FiveMinutes => json!({ "type": "ephemeral" }),
        CacheTtl::OneHour => json!({ "type": "ephemeral", "ttl": "1h" }),
    }
}

/// The blocks followed by a cache breakpoint in the first request of a turn. Tools precede the system prompt, and one
/// breakpoint is reserved for the conversation.
fn marked_blocks(built: &Built) -> Vec<(usize, CacheTtl)> {
    let bytes = |tool: &ToolSpec| {
        let schema = serde_json::to_string(&ParametersSchema::of(tool)).map_or(0, |schema| schema.len());
        tool.name.len() + tool.description.len() + schema
    };
    let tools = built.tools.iter().map(bytes).sum();
    let min = built.model.as_ref().and_then(|model| model.min_cacheable).unwrap_or(0);
    let blocks = &built.prompt.frozen.blocks;
    let blocks: Vec<_> = blocks.iter().map(|block| (block.class, block.tokens)).collect();
    breakpoints::of_blocks(&blocks, tools, min, built.cache_ttl, MAX_BREAKPOINTS - 1)
}

/// The first messages of an OpenAI chat request. OpenAI caches by prefix, so the order matters.
#[must_use]
pub fn openai(built: &Built) -> Value {
    let prompt = &built.prompt;
    let mut messages = Vec::new();
    let text = system_text(prompt);
    if !text.is_empty() {
        let breakpoints = built.model.as_ref().map_or(Breakpoints::None, |model| model.breakpoints);
        let content = match breakpoints {
            Breakpoints::Either => {
                json!(system_blocks(built, |_| ("prompt_cache_breakpoint", json!({ "mode": "explicit" }))))
            }
            // A gateway to a model that supports Anthropic's breakpoints.
            Breakpoints::Explicit => json!(system_blocks(built, |ttl| ("cache_control", cache_control(ttl)))),
            Breakpoints::Automatic | Breakpoints::None => json!(text),
        };
        messages.push(json!({ "role": "system", "content": content }));
    }
    if let (TurnPlacement::Message, Some(turn)) = (prompt.placement, prompt.turn_context()) {
        messages.push(json!({ "role": "user", "content": turn }));
    }
    json!({
        "model": model_name(built),
        "messages": messages,
        "prompt_cache_key": cache_key(prompt),
    })
}

/// Requests with the same frozen text share a key. OpenAI rejects keys of more than 64 characters; the whole
/// fingerprint is longer.
fn cache_key(prompt: &Prompt) -> String {
    prompt.frozen.fingerprint.to_string().chars().take(MAX_CACHE_KEY_CHARS).collect()
}

fn system_text(prompt: &Prompt) -> String {
    match prompt.placement {
        TurnPlacement::System => prompt.text(),
        TurnPlacement::Message => prompt.frozen.text.to_string(),
    }
}

/// The model name without the provider prefix.
fn model_name(built: &Built) -> &str {
    let model = &*built.occasion.model;
    model.split_once('/').map_or(model, |(_, name)| name)
}
