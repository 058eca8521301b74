//! `foreword build`: the prompt for an occasion, as text, as a report, or as the body of a provider's request.

use std::process::ExitCode;

use foreword_prompt::cache_plan::breakpoints;
use foreword_prompt::prompt::{Prompt, TurnPlacement};
use foreword_prompt::report::{Report, View};
use foreword_workspace::build::Built;
use serde_json::{Value, json};

use crate::cli::{BuildArgs, Format};
use crate::failure::Failure;
use crate::occasion::{context_fits, request};
use crate::output::Output;
use crate::world::World;

/// The longest `prompt_cache_key` that OpenAI takes.
const CACHE_KEY_CHARS: usize = 64;

pub(crate) fn run(args: &BuildArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let request = request(&args.occasion, &workspace, world)?;
    context_fits(&request, &workspace)?;
    let built = workspace.build(&request)?;
    let report = Report::of(&built.prompt, View::Principal);
    let format = args.format.unwrap_or(if output.wants_json() { Format::Json } else { Format::Text });
    // Whoever runs this is the owner, whoever the prompt is for; what JSON tells already is not told twice.
    for warning in &built.prompt.facts.warnings {
        if format != Format::Json || !report.warnings.contains(warning) {
            output.warn(&warning.message);
        }
    }
    match format {
        Format::Text => {
            if built.prompt.is_empty() {
                output.say("this prompt is empty: nothing would be sent");
            }
            output.exactly(&built.prompt.text())?;
        }
        Format::Json => output.json(&report)?,
        Format::Anthropic => output.json(&anthropic(&built))?,
        Format::Openai => output.json(&openai(&built))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The system part of an Anthropic Messages request, with breakpoints where they count.
fn anthropic(built: &Built) -> Value {
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
fn openai(built: &Built) -> Value {
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
