//! Requests to OpenAI and the decoding of its answers and those of compatible servers.

use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{ModelEvent, RequestRole, StopReason};
use foreword_core::models::Breakpoints;
use foreword_core::price::CacheTtl;
use foreword_core::provider::WireDialect;
use serde_json::{Value, json};

use super::{OutputLimit, encode};
use crate::dialect::Decoded;
use crate::dialect::samples::{call, decoded, layered, message, result, shape};

fn events(body: &str) -> Decoded {
    decoded(WireDialect::OpenAi, body)
}

/// The chunks as a server-sent event stream, with the end marker.
fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).chain(["data: [DONE]\n\n".to_owned()]).collect()
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

/// The decoded tool calls: id, name and input.
fn calls(events: &Decoded) -> Vec<(String, String, Value)> {
    let calls = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Block(ContentBlock::ToolCall { id, name, input })) => {
            Some((id.to_string(), name.clone(), input.clone()))
        }
        _ => None,
    });
    calls.collect()
}

#[test]
fn request_is_plain_for_unknown_servers() {
    insta::assert_snapshot!("openai_request", shape(&encode(&layered(), OutputLimit::MaxTokens)));
}

#[test]
fn breakpoints_are_set_where_stability_changes() {
    let mut request = layered();
    request.cache.breakpoints = Breakpoints::Either;
    insta::assert_snapshot!(
        "openai_marked_request",
        shape(&encode(&request, OutputLimit::MaxCompletionTokens))
    );
}

#[test]
fn gateway_gets_anthropic_cache_control() {
    let mut request = layered();
    request.tools = [].into();
    request.cache.breakpoints = Breakpoints::Explicit;
    request.cache.ttl = CacheTtl::OneHour;
    insta::assert_snapshot!("openai_gateway_request", shape(&encode(&request, OutputLimit::MaxTokens)));
}

#[test]
fn odd_messages_are_made_sound() {
    let thought = json!({ "type": "reasoning_content", "field": "reasoning", "text": "hm" });
    let mut request = layered();
    request.messages = vec![
        message(
            RequestRole::Assistant,
            vec![ContentBlock::Other(json!({ "type": "thinking", "signature": "x" }))],
        ),
        message(RequestRole::Assistant, vec![ContentBlock::Other(thought), call("c 1", json!("{\"comm"))]),
        message(RequestRole::Tool, vec![ContentBlock::text("withheld"), result("c 1", "")]),
        message(RequestRole::Tool, vec![ContentBlock::text("one"), ContentBlock::text("two")]),
    ];
    insta::assert_snapshot!("openai_odd_request", shape(&encode(&request, OutputLimit::MaxTokens)));
}

/// Asserts that `deltas` decode to two calls with these ids and the inputs 1 and 2.
fn reads_two_calls(what: &str, deltas: &[&[Value]], ids: [&str; 2]) {
    let mut chunks: Vec<Value> = deltas.iter().map(|calls| delta(json!({ "tool_calls": calls }))).collect();
    // Many servers send `stop` for tool calls.
    chunks.push(finish("stop"));
    let events = events(&stream(&chunks));
    let expected =
        ids.into_iter().zip([1, 2]).map(|(id, n)| (id.to_owned(), "bash".to_owned(), json!({ "n": n })));
    assert_eq!(calls(&events), expected.collect::<Vec<_>>(), "{what}");
    assert_eq!(events.last(), Some(&Ok(ModelEvent::Stopped(StopReason::ToolUse))), "{what}");
}

#[test]
fn whole_calls_are_separated_without_ids() {
    let call = |id: Option<&str>, index: Option<u64>, n: u64| {
        let mut call = json!({ "function": { "name": "bash", "arguments": json!({ "n": n }).to_string() } });
        id.iter().for_each(|id| call["id"] = json!(id));
        index.iter().for_each(|index| call["index"] = json!(index));
        call
    };
    let (named, made) = (["a", "b"], ["call_4_0", "call_4_1"]);
    for (what, id, index, ids) in [
        ("numbered and named", named.map(Some), [Some(0), Some(1)], named),
        ("all with the same number", named.map(Some), [Some(0), Some(0)], named),
        ("named only", named.map(Some), [None, None], named),
        ("numbered only", [None, None], [Some(0), Some(1)], made),
        ("with the same number and no name", [None, None], [Some(0), Some(0)], made),
        ("with neither", [None, None], [None, None], made),
        ("with empty names", [Some(""), Some("")], [Some(0), Some(1)], made),
    ] {
        let [one, two] = [call(id[0], index[0], 1), call(id[1], index[1], 2)];
        reads_two_calls(what, &[&[one.clone(), two.clone()]], ids);
        reads_two_calls(what, &[&[one], &[two]], ids);
    }
}

#[test]
fn interleaved_call_deltas_are_assembled() {
    let piece =
        |index: u64, arguments: &str| json!({ "index": index, "function": { "arguments": arguments } });
    let start = |index: u64, id: &str| json!({ "index": index, "id": id, "function": { "name": "bash", "arguments": "" } });
    reads_two_calls(
        "by their numbers",
        &[
            &[start(0, "a")],
            &[start(1, "b")],
            &[piece(0, "{\"n\":1"), piece(1, "{\"n\":2}")],
            &[piece(0, "}")],
        ],
        ["a", "b"],
    );
    let named = |id: &str, arguments: Value| json!({ "id": id, "function": { "name": "bash", "arguments": arguments } });
    reads_two_calls(
        "by their names, which come each time",
        &[&[named("a", json!("{\"n\""))], &[named("a", json!(":1}"))], &[named("b", json!({ "n": 2 }))]],
        ["a", "b"],
    );
}

#[test]
fn cached_tokens_are_subtracted_from_the_prompt() {
    let seen = |usage: Value| {
        let mut chunk = finish("stop");
        chunk["usage"] = usage;
        // In the last chunk with a choice, without `[DONE]`.
        match events(&format!("data: {chunk}\n\n")).first() {
            Some(Ok(ModelEvent::Usage(usage))) => Some(*usage),
            _ => None,
        }
    };
    let usage = |input, output, cache_read, cache_write| {
        Some(Usage { input, output, cache_read, cache_write, cache_write_1h: 0, cache_unknown: false })
    };
    for (said, expected) in [
        (
            json!({ "prompt_tokens": 1000, "completion_tokens": 7 }),
            usage(1000, 7, 0, 0).map(|usage| Usage { cache_unknown: true, ..usage }),
        ),
        (
            json!({ "prompt_tokens": 1000, "completion_tokens": 7, "prompt_tokens_details": { "cached_tokens": 900 } }),
            usage(100, 7, 900, 0),
        ),
        (
            json!({ "prompt_tokens": 1000, "completion_tokens": 7, "prompt_tokens_details": { "cached_tokens": 600, "cache_write_tokens": 300 } }),
            usage(100, 7, 600, 300),
        ),
        (
            json!({ "prompt_tokens": 1000, "completion_tokens": 7, "prompt_cache_hit_tokens": 400, "prompt_tokens_details": null }),
            usage(600, 7, 400, 0),
        ),
        (
            json!({ "prompt_tokens": 1000, "completion_tokens": 7, "prompt_tokens_details": { "cached_tokens": 500, "cache_creation_tokens": 200 } }),
            usage(300, 7, 500, 200),
        ),
        (
            json!({ "prompt_tokens": 10, "completion_tokens": 7, "prompt_tokens_details": { "cached_tokens": 11 } }),
            usage(0, 7, 11, 0),
        ),
        (Value::Null, None),
        (json!({ "prompt_tokens": "many" }), None),
    ] {
        assert_eq!(seen(said.clone()), expected, "{said}");
    }
}

#[test]
fn reasoning_is_kept_with_calls_and_not_emitted() {
    for field in ["reasoning_content", "reasoning"] {
        let thinking = [delta(json!({ field: "Let me " })), delta(json!({ field: "see.", "content": "" }))];
        let spoken =
            stream(&[&thinking[..], &[delta(json!({ "content": "Yes." })), finish("stop")]].concat());
        assert_eq!(
            events(&spoken),
            [Ok(ModelEvent::Text("Yes.".to_owned())), Ok(ModelEvent::Stopped(StopReason::EndTurn))]
        );
        let call =
            delta(json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "bash" } }] }));
        let called = events(&stream(&[&thinking[..], &[call, finish("tool_calls")]].concat()));
        let thought = json!({ "type": "reasoning_content", "field": field, "text": "Let me see." });
        assert_eq!(called[0], Ok(ModelEvent::Block(ContentBlock::Other(thought))));
    }
}

#[test]
fn stop_reasons_are_mapped_or_passed_on() {
    for (reason, expected) in [
        ("stop", StopReason::EndTurn),
        ("tool_calls", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("new\nreason", StopReason::Other("new reason".to_owned())),
    ] {
        assert_eq!(events(&stream(&[finish(reason)])), [Ok(ModelEvent::Stopped(expected))], "{reason}");
    }
    let refused = events(&stream(&[delta(json!({ "refusal": "I can't." })), finish("stop")]));
    assert_eq!(
        refused,
        [Ok(ModelEvent::Text("I can't.".to_owned())), Ok(ModelEvent::Stopped(StopReason::Refusal))]
    );
}

#[test]
fn missing_done_or_stop_reason_is_accepted() {
    let said = delta(json!({ "content": "yes" }));
    let text = Ok(ModelEvent::Text("yes".to_owned()));
    let end = Ok(ModelEvent::Stopped(StopReason::EndTurn));
    assert_eq!(events(&format!("data: {said}\n\ndata: {}", finish("stop"))), [text.clone(), end.clone()]);
    assert_eq!(events(&stream(&[said])), [text, end]);
}
