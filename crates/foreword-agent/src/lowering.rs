//! A prompt as the beginning of a provider's request, for whoever sends it themselves.

use foreword_prompt::cache_plan::breakpoints;
use foreword_prompt::prompt::{Prompt, TurnPlacement};
use foreword_workspace::build::Built;
use serde_json::{Value, json};

/// The longest `prompt_cache_key` that OpenAI takes.
const CACHE_KEY_CHARS: usize = 64;

/// The system part of an Anthropic Messages request, with breakpoints where they count.
#[must_use]
pub fn anthropic(built: &Built) -> Value {
    let prompt = &built.prompt;
    let min = built.model.as_ref().and_then(|model| model.min_cacheable).unwrap_or(0);
    let marked: Vec<usize> = breakpoints(&prompt.frozen, min).iter().map(|point| point.block).collect();
    let mut system: Vec<Value> = Vec::new();
    for (index, block) in prompt.frozen.blocks.iter().enumerate() {
        let mut part = json!({ "type": "text", "text": &prompt.frozen.text[block.range.clone()] });
        if marked.contains(&index) {
            part["cache_control"] = json!({ "type": "ephemeral" });
        }
        system.push(part);
    }
    let mut body = json!({ "model": model_name(built) });
    let turn = prompt.turn_context();
    match (prompt.placement, turn) {
        (TurnPlacement::System, Some(turn)) => {
            system.push(json!({ "type": "text", "text": format!("{}{turn}", prompt.before_turn()) }));
        }
        (TurnPlacement::Message, Some(turn)) => {
            body["messages"] = json!([{ "role": "user", "content": [{ "type": "text", "text": turn }] }]);
        }
        (_, None) => {}
    }
    // An empty prompt is no system prompt, not an empty one.
    if !system.is_empty() {
        body["system"] = json!(system);
    }
    body
}

/// The first messages of an OpenAI chat request; the order of the bytes is what makes it cache.
#[must_use]
pub fn openai(built: &Built) -> Value {
    let prompt = &built.prompt;
    let mut messages = Vec::new();
    let system = system_text(prompt);
    if !system.is_empty() {
        messages.push(json!({ "role": "system", "content": system }));
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

/// Requests with the same frozen text share a key. OpenAI refuses one of more than 64 characters, which the whole
/// fingerprint has.
fn cache_key(prompt: &Prompt) -> String {
    prompt.frozen.fingerprint.to_string().chars().take(CACHE_KEY_CHARS).collect()
}

fn system_text(prompt: &Prompt) -> String {
    match prompt.placement {
        TurnPlacement::System => prompt.text(),
        TurnPlacement::Message => prompt.frozen.text.to_string(),
    }
}

/// The model as its provider calls it.
fn model_name(built: &Built) -> &str {
    let model = &*built.occasion.model;
    model.split_once('/').map_or(model, |(_, name)| name)
}
