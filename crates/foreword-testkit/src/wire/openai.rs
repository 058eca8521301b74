//! Encodes answers in OpenAI's dialect: as a stream of chunks, or as one JSON body.

use foreword_core::message::Usage;
use serde_json::{Value, json};

use super::{RequestFacts, pieces, split_words};
use crate::reply::{Answer, Ending, Part};

/// The answer as one JSON body.
pub(super) fn whole(answer: &Answer, asked: &RequestFacts) -> Value {
    let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for (at, part) in answer.parts.iter().enumerate() {
        match part {
            Part::Text(text) => content.push_str(text),
            Part::Thinking { text, .. } => reasoning.push_str(text),
            Part::ToolCall { name, arguments } => calls.push(json!({
                "id": asked.call_id(at), "type": "function", "function": { "name": name, "arguments": arguments },
            })),
            Part::Event { .. } => {}
        }
    }
    let mut message = json!({ "role": "assistant", "content": content });
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({
        "id": format!("chatcmpl-{}", asked.number), "object": "chat.completion", "created": 1_700_000_000,
        "model": asked.model, "usage": usage(asked.usage),
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason(answer) }],
    })
}

/// The answer as chunks.
pub(super) fn events(answer: &Answer, asked: &RequestFacts) -> Vec<Vec<u8>> {
    let delta = |delta: Value| choice(asked, &delta, None);
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let mut index = 0;
    for (at, part) in answer.parts.iter().enumerate() {
        match part {
            Part::Text(text) => {
                events.extend(split_words(text).map(|word| delta(json!({ "content": word }))))
            }
            Part::Thinking { text, .. } => {
                events.extend(split_words(text).map(|word| delta(json!({ "reasoning_content": word }))));
            }
            Part::ToolCall { name, arguments } => {
                let function = json!({ "name": name, "arguments": "" });
                let call = json!({ "index": index, "id": asked.call_id(at), "type": "function", "function": function });
                events.push(delta(json!({ "tool_calls": [call] })));
                events.extend(pieces(arguments).iter().map(|piece| {
                    delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }))
                }));
                index += 1;
            }
            Part::Event { data, .. } => events.push(line(data)),
        }
    }
    match &answer.ending {
        Ending::Complete => {
            events.push(choice(asked, &json!({}), Some(finish_reason(answer))));
            if asked.wants_usage {
                let mut last = chunk(asked);
                last["choices"] = json!([]);
                last["usage"] = usage(asked.usage);
                events.push(line(&last));
            }
            events.push(b"data: [DONE]\n\n".to_vec());
        }
        Ending::Error { kind, message } => {
            events.push(line(&json!({ "error": { "message": message, "type": kind, "code": null } })));
        }
        Ending::Cut | Ending::Silence => {}
    }
    events
}

fn chunk(asked: &RequestFacts) -> Value {
    json!({
        "id": format!("chatcmpl-{}", asked.number), "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": asked.model,
    })
}

fn choice(asked: &RequestFacts, delta: &Value, finish: Option<&str>) -> Vec<u8> {
    let mut chunk = chunk(asked);
    chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    line(&chunk)
}

/// OpenAI's prompt tokens include cached tokens.
fn usage(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": prompt, "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write },
    })
}

fn finish_reason(answer: &Answer) -> &str {
    let calls = answer.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
    answer.stop.as_deref().unwrap_or(if calls { "tool_calls" } else { "stop" })
}

fn line(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}
