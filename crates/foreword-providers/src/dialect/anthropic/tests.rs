//! Requests to Anthropic and the decoding of its answers.

use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{Diagnostics, ModelEvent, ModelRequest, Note, RequestRole, StopReason};
use foreword_core::models::Breakpoints;
use foreword_core::price::CacheTtl;
use foreword_core::provider::WireDialect;
use foreword_prompt::prompt::CacheClass;
use serde_json::{Value, json};

use super::encode;
use crate::dialect::samples::{block, call, decoded, layered, message, result, shape};
use crate::dialect::{DecodeError, Decoded};

fn events(body: &str) -> Decoded {
    decoded(WireDialect::Anthropic, body)
}

/// The events as a server-sent event stream.
fn stream(events: &[Value]) -> String {
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    events.iter().map(event).collect()
}

fn markers(request: &ModelRequest) -> Vec<String> {
    let body: Value = serde_json::from_slice(&encode(request)).unwrap();
    let mut found = Vec::new();
    let mut look = |place: String, block: &Value| {
        let ttl = block["cache_control"]["ttl"].as_str().unwrap_or("5m");
        if block["cache_control"]["type"] == "ephemeral" {
            found.push(format!("{place} {ttl}"));
        }
    };
    for (at, block) in body["system"].as_array().into_iter().flatten().enumerate() {
        look(format!("system {at}"), block);
    }
    for (at, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            look(format!("message {at}.{index}"), block);
        }
    }
    found
}

#[test]
fn request_fields_have_the_cache_order() {
    let mut request = layered();
    request.cache.breakpoints = Breakpoints::Explicit;
    request.cache.ttl = CacheTtl::OneHour;
    insta::assert_snapshot!("anthropic_request", shape(&encode(&request)));
}

#[test]
fn no_breakpoints_without_support() {
    for breakpoints in [Breakpoints::None, Breakpoints::Automatic] {
        let mut request = layered();
        request.cache.breakpoints = breakpoints;
        assert_eq!(markers(&request), [] as [&str; 0]);
    }
}

#[test]
fn prefixes_below_the_minimum_get_no_breakpoint() {
    let mut request = layered();
    request.tools = [].into();
    request.cache.breakpoints = Breakpoints::Explicit;
    for (min, expected) in [
        (0, vec!["system 0 5m", "system 1 5m", "system 2 5m", "message 3.1 5m"]),
        (2_000, vec!["system 1 5m", "system 2 5m", "message 3.1 5m"]),
        (3_000, vec!["system 2 5m", "message 3.1 5m"]),
        (9_000, vec![]),
    ] {
        request.cache.min_cacheable = min;
        assert_eq!(markers(&request), expected, "{min}");
    }
}

#[test]
fn one_hour_breakpoints_precede_five_minute_ones() {
    let mut request = layered();
    request.cache.breakpoints = Breakpoints::Explicit;
    request.cache.ttl = CacheTtl::OneHour;
    assert_eq!(markers(&request), ["system 0 1h", "system 1 1h", "system 2 5m", "message 3.1 5m"]);
    request.system.insert(0, block("first", CacheClass::Conversation, 2_000));
    assert_eq!(markers(&request), ["system 1 5m", "system 2 5m", "system 3 5m", "message 3.1 5m"]);
}

#[test]
fn parallel_calls_keep_the_previous_breakpoint() {
    let mut request = layered();
    request.cache.breakpoints = Breakpoints::Explicit;
    for (count, expected) in [
        (9, vec!["system 0 5m", "system 1 5m", "system 2 5m", "message 5.8 5m"]),
        (10, vec!["system 1 5m", "system 2 5m", "message 3.1 5m", "message 5.9 5m"]),
        (300, vec!["system 1 5m", "system 2 5m", "message 3.1 5m", "message 5.299 5m"]),
    ] {
        let mut request = request.clone();
        let ids = || (0..count).map(|n| format!("many-{n}"));
        request
            .messages
            .push(message(RequestRole::Assistant, ids().map(|id| call(&id, json!({}))).collect()));
        request.messages.push(message(RequestRole::Tool, ids().map(|id| result(&id, "done")).collect()));
        assert_eq!(markers(&request), expected, "{count}");
    }
}

#[test]
fn rejected_content_is_not_sent() {
    let other = |value: Value| ContentBlock::Other(value);
    let mut request = layered();
    request.system = vec![block(" \n", CacheClass::Static, 1)];
    request.messages = vec![
        message(RequestRole::User, vec![ContentBlock::text("\n ")]),
        message(
            RequestRole::Assistant,
            vec![ContentBlock::text(""), other(json!({ "type": "reasoning_content", "text": "hm" }))],
        ),
        message(
            RequestRole::Assistant,
            vec![
                other(json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" })),
                other(json!({ "type": "thinking", "thinking": "unsigned", "signature": "" })),
                other(json!({ "type": "moon_phase", "phase": 3 })),
                other(json!({ "type": "text", "text": 7 })),
                call("functions.bash:0", json!("{\"comm")),
            ],
        ),
        message(RequestRole::Tool, vec![ContentBlock::text("withheld"), result("functions.bash:0", "")]),
        message(RequestRole::Tool, vec![ContentBlock::text("all withheld")]),
    ];
    insta::assert_snapshot!("anthropic_odd_request", shape(&encode(&request)));
}

#[test]
fn opaque_blocks_are_sent_back_unchanged() {
    let start = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let add =
        |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = |index: u64| json!({ "type": "content_block_stop", "index": index });
    let body = stream(&[
        json!({ "type": "message_start", "message": {} }),
        start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        add(0, json!({ "type": "thinking_delta", "thinking": "Let me " })),
        add(0, json!({ "type": "thinking_delta", "thinking": "see." })),
        add(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
        stop(0),
        start(1, json!({ "type": "redacted_thinking", "data": "AAAA" })),
        stop(1),
        start(2, json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {} })),
        add(2, json!({ "type": "input_json_delta", "partial_json": "{\"query\":" })),
        add(2, json!({ "type": "input_json_delta", "partial_json": "\"x\"}" })),
        stop(2),
        start(3, json!({ "type": "moon_phase", "phase": [1] })),
        add(3, json!({ "type": "moon_delta", "phase": [2], "note": "new" })),
        json!({ "type": "message_delta", "delta": { "stop_reason": "pause_turn" } }),
        json!({ "type": "message_stop" }),
    ]);
    let expected = [
        json!({ "type": "thinking", "thinking": "Let me see.", "signature": "c2ln" }),
        json!({ "type": "redacted_thinking", "data": "AAAA" }),
        json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": "x" } }),
        json!({ "type": "moon_phase", "phase": [1, 2], "note": "new" }),
    ];
    let blocks = expected.into_iter().map(|block| Ok(ModelEvent::Block(ContentBlock::Other(block))));
    let end = Ok(ModelEvent::Stopped(StopReason::Other("pause_turn".to_owned())));
    assert_eq!(events(&body), blocks.chain([end]).collect::<Decoded>());
}

#[test]
fn input_excludes_cache_reads_and_writes() {
    let body = stream(&[
        json!({ "type": "message_start", "message": { "usage": {
            "input_tokens": 12, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50,
            "cache_creation": { "ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30 },
            "output_tokens": 1, "service_tier": "standard",
        } } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "max_tokens" }, "usage": { "output_tokens": 44 } }),
        json!({ "type": "message_stop" }),
    ]);
    let first = Usage {
        input: 12,
        output: 1,
        cache_read: 900,
        cache_write: 50,
        cache_write_1h: 30,
        cache_unknown: false,
    };
    let expected: [Result<ModelEvent, DecodeError>; 3] = [
        Ok(ModelEvent::Usage(first)),
        Ok(ModelEvent::Usage(Usage { output: 44, ..first })),
        Ok(ModelEvent::Stopped(StopReason::MaxTokens)),
    ];
    assert_eq!(events(&body), expected);
}

#[test]
fn stop_reasons_are_mapped_or_passed_on() {
    for (reason, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("new\nreason", StopReason::Other("new reason".to_owned())),
    ] {
        // Without `message_stop`, as some servers end.
        let body = stream(&[json!({ "type": "message_delta", "delta": { "stop_reason": reason } })]);
        assert_eq!(events(&body), [Ok(ModelEvent::Stopped(expected))], "{reason}");
    }
}

#[test]
fn invalid_ids_are_replaced_by_unique_ones() {
    // The request has a call `toolu_1` already.
    let calls = ["", "two words", "toolu_9", "toolu_9", "toolu_1", &"x".repeat(300)];
    let blocks: Vec<Value> =
        calls.iter().map(|id| json!({ "type": "tool_use", "id": id, "name": "bash", "input": {} })).collect();
    let answer = json!({ "type": "message", "content": blocks, "stop_reason": "tool_use" }).to_string();
    let ids: Vec<String> = events(&answer)
        .into_iter()
        .filter_map(|event| match event {
            Ok(ModelEvent::Block(ContentBlock::ToolCall { id, .. })) => Some(id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_4_0", "call_4_1", "toolu_9", "call_4_2", "call_4_3", "call_4_4"]);
}

#[test]
fn previous_answer_id_is_sent_for_cache_diagnostics() {
    let asked = |diagnostics| {
        let mut request = layered();
        request.cache.diagnostics = diagnostics;
        serde_json::from_slice::<Value>(&encode(&request)).unwrap()["diagnostics"].clone()
    };
    assert_eq!(asked(Diagnostics::Off), Value::Null);
    assert_eq!(asked(Diagnostics::Compare(None)), json!({ "previous_message_id": null }));
    let before = Diagnostics::Compare(Some("msg_1".into()));
    assert_eq!(asked(before), json!({ "previous_message_id": "msg_1" }));
}

#[test]
fn cache_miss_reason_and_answer_id_are_reported() {
    let missed = json!({ "cache_miss_reason": { "type": "system_changed", "cache_missed_input_tokens": 9 } });
    let body = stream(&[
        json!({ "type": "message_start", "message": { "id": "msg_2", "diagnostics": missed } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_stop" }),
    ]);
    let expected: [Result<ModelEvent, DecodeError>; 3] = [
        Ok(ModelEvent::Note(Note::Id("msg_2".to_owned()))),
        Ok(ModelEvent::Note(Note::CacheMiss("system_changed".to_owned()))),
        Ok(ModelEvent::Stopped(StopReason::EndTurn)),
    ];
    assert_eq!(events(&body), expected);
}
