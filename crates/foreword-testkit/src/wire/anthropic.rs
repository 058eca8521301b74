//! Encodes answers in Anthropic's dialect: as a stream of events, or as one JSON body.

use foreword_core::message::Usage;
use serde_json::{Value, json};

use super::{RequestFacts, pieces, split_words};
use crate::reply::{Answer, Ending, Part};

/// The answer as one JSON body.
pub(super) fn whole(answer: &Answer, asked: &RequestFacts) -> Value {
    let calls = (0..).map(|index| asked.call_id(index));
    let content: Vec<Value> =
        answer.parts.iter().zip(calls).filter_map(|(part, id)| block(part, &id)).collect();
    let mut message = message(asked);
    message["content"] = Value::Array(content);
    message["stop_reason"] = json!(stop_reason(answer));
    message["usage"] = usage(asked.usage, asked.usage.output);
    message
}

/// The answer as events.
pub(super) fn events(answer: &Answer, asked: &RequestFacts) -> Vec<Vec<u8>> {
    let mut events = vec![event("message_start", json!({ "message": message(asked) }))];
    events.push(event("ping", json!({})));
    let mut index = 0;
    let last = answer.parts.len().saturating_sub(1);
    for (at, part) in answer.parts.iter().enumerate() {
        if let Part::Event { name, data } = part {
            events.push(event(name, data.clone()));
            continue;
        }
        let complete = at < last || matches!(answer.ending, Ending::Complete);
        block_events(part, index, &asked.call_id(at), &mut events);
        if complete {
            events.push(event("content_block_stop", json!({ "index": index })));
        }
        index += 1;
    }
    match &answer.ending {
        Ending::Complete => {
            let delta = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
            let usage = json!({ "output_tokens": asked.usage.output });
            events.push(event("message_delta", json!({ "delta": delta, "usage": usage })));
            events.push(event("message_stop", json!({})));
        }
        Ending::Error { kind, message } => {
            events.push(event("error", json!({ "error": { "type": kind, "message": message } })));
        }
        Ending::Cut | Ending::Silence => {}
    }
    events
}

fn message(asked: &RequestFacts) -> Value {
    json!({
        "id": format!("msg_{}", asked.number), "type": "message", "role": "assistant", "model": asked.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(asked.usage, 1),
    })
}

fn usage(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write.saturating_sub(usage.cache_write_1h),
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": output,
    })
}

fn block(part: &Part, id: &str) -> Option<Value> {
    Some(match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Thinking { text, signature } => {
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        Part::ToolCall { name, arguments } => {
            let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        Part::Event { .. } => return None,
    })
}

fn block_events(part: &Part, index: usize, id: &str, events: &mut Vec<Vec<u8>>) {
    let (start, deltas): (Value, Vec<Value>) = match part {
        Part::Text(text) => (
            json!({ "type": "text", "text": "" }),
            split_words(text).map(|word| json!({ "type": "text_delta", "text": word })).collect(),
        ),
        Part::Thinking { text, signature } => (
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
            split_words(text)
                .map(|word| json!({ "type": "thinking_delta", "thinking": word }))
                .chain([json!({ "type": "signature_delta", "signature": signature })])
                .collect(),
        ),
        Part::ToolCall { name, arguments } => (
            json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
            pieces(arguments)
                .iter()
                .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }))
                .collect(),
        ),
        Part::Event { .. } => return,
    };
    events.push(event("content_block_start", json!({ "index": index, "content_block": start })));
    let deltas = deltas.into_iter();
    events
        .extend(deltas.map(|delta| event("content_block_delta", json!({ "index": index, "delta": delta }))));
}

fn stop_reason(answer: &Answer) -> &str {
    let calls = answer.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
    answer.stop.as_deref().unwrap_or(if calls { "tool_use" } else { "end_turn" })
}

fn event(name: &str, mut data: Value) -> Vec<u8> {
    if let Value::Object(fields) = &mut data {
        fields.entry("type").or_insert_with(|| json!(name));
    }
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}
