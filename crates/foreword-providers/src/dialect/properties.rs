//! Properties of both dialects, for any conversation and any stream.

use foreword_core::id::CallId;
use foreword_core::message::ContentBlock;
use foreword_core::model::{ModelEvent, ModelRequest, RequestMessage, RequestRole};
use foreword_core::models::Breakpoints;
use foreword_core::price::CacheTtl;
use foreword_core::provider::WireDialect;
use foreword_prompt::prompt::CacheClass;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::openai_chat::OutputLimit;
use super::samples::{block, layered};
use super::{Decoded, Decoder, anthropic, openai_chat};

const MARKERS: [&str; 3] = [
    r#","cache_control":{"type":"ephemeral"}"#,
    r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
    r#","prompt_cache_breakpoint":{"mode":"explicit"}"#,
];

fn dialect() -> impl Strategy<Value = WireDialect> {
    prop_oneof![Just(WireDialect::Anthropic), Just(WireDialect::OpenAi)]
}

fn encode(dialect: WireDialect, request: &ModelRequest) -> String {
    let body = match dialect {
        WireDialect::Anthropic => anthropic::encode(request),
        WireDialect::OpenAi => openai_chat::encode(request, OutputLimit::MaxTokens),
    };
    String::from_utf8(body).unwrap()
}

fn without_markers(body: &str) -> String {
    MARKERS.iter().fold(body.to_owned(), |body, marker| body.replace(marker, ""))
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ \n\t]{0,3}",
        Just(r#"","cache_control":{"type":"ephemeral"}"#.to_owned()),
        Just("👩‍👩‍👧 \u{202e}\u{0}\u{feff}]}".to_owned()),
    ]
}

fn content() -> impl Strategy<Value = ContentBlock> {
    let id = "[!-~]{1,12}".prop_map(|id| CallId::new(id).unwrap());
    let input = prop_oneof![
        any_text().prop_map(|text| json!({ "query": text, "n": -0.1, "deep": [null, { "a": true }] })),
        any_text().prop_map(Value::String),
        Just(Value::Null),
        Just(json!([1, 2])),
    ];
    let theirs = prop_oneof![
        any_text().prop_map(|text| json!({ "type": "thinking", "thinking": text, "signature": "c2ln" })),
        any_text().prop_map(
            |text| json!({ "type": "reasoning_content", "field": "reasoning_content", "text": text })
        ),
        any_text().prop_map(|text| json!({ "type": text })),
        Just(json!(7)),
    ];
    prop_oneof![
        4 => any_text().prop_map(ContentBlock::text),
        2 => (id.clone(), any_text(), input).prop_map(|(id, name, input)| ContentBlock::ToolCall { id, name, input }),
        2 => (id, any_text(), any::<bool>())
            .prop_map(|(call, content, is_error)| ContentBlock::ToolResult { call, content, is_error }),
        1 => theirs.prop_map(ContentBlock::Other),
    ]
}

fn any_message() -> impl Strategy<Value = RequestMessage> {
    let role = prop_oneof![Just(RequestRole::User), Just(RequestRole::Assistant), Just(RequestRole::Tool)];
    // Occasionally as many blocks as a large set of parallel calls produces.
    let blocks = prop_oneof![
        9 => prop::collection::vec(content(), 1..4),
        1 => prop::collection::vec(content(), 20..45),
    ];
    (role, blocks).prop_map(|(role, content)| RequestMessage { role, content })
}

fn request() -> impl Strategy<Value = ModelRequest> {
    let class = prop::sample::select(vec![
        CacheClass::Static,
        CacheClass::Agent,
        CacheClass::Conversation,
        CacheClass::None,
    ]);
    let system = prop::collection::vec((any_text(), class, 0_usize..3_000), 0..6);
    let breakpoints = prop::sample::select(vec![
        Breakpoints::Explicit,
        Breakpoints::Either,
        Breakpoints::Automatic,
        Breakpoints::None,
    ]);
    let ttl = prop_oneof![Just(CacheTtl::FiveMinutes), Just(CacheTtl::OneHour)];
    let messages = prop::collection::vec(any_message(), 1..9);
    (system, messages, breakpoints, ttl, 0_usize..5_000).prop_map(
        |(system, messages, breakpoints, ttl, min)| {
            let mut request = layered();
            request.system =
                system.into_iter().map(|(text, class, tokens)| block(&text, class, tokens)).collect();
            request.messages = messages;
            request.cache.breakpoints = breakpoints;
            request.cache.ttl = ttl;
            request.cache.min_cacheable = min;
            request
        },
    )
}

/// The items decoded from `bytes`, split at `cuts`.
fn in_pieces(dialect: WireDialect, bytes: &[u8], cuts: &[prop::sample::Index]) -> Decoded {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let mut decoder = Decoder::new(dialect, &layered());
    let (mut from, mut out) = (0, Vec::new());
    for cut in cuts.into_iter().chain([bytes.len()]) {
        out.extend(decoder.push(&bytes[from..cut]));
        from = cut;
    }
    out.extend(decoder.finish());
    assert!(decoder.has_ended());
    out
}

/// Almost valid streams: events, malformed events, mixed line ends, random bytes.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let data = prop::sample::select(vec![
        r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ü世👩‍👧"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"bash","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#,
        r#"{"type":"message_stop"}"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#,
        r#"{"choices":[{"delta":{"content":"ü世👩‍👧"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"bash","arguments":"{\"a"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"hm"},"finish_reason":null}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
        "[DONE]",
        "{\"cut\":",
        "null",
    ]);
    let end = prop::sample::select(vec!["\n\n", "\r\n\r\n", "\r\r", "\n", "\r"]);
    let prefix =
        prop::sample::select(vec!["data: ", "data:", "event: content_block_delta\ndata: ", ": ", ""]);
    let line =
        (prefix, data, end).prop_map(|(prefix, data, end)| format!("{prefix}{data}{end}").into_bytes());
    let part = prop_oneof![12 => line, 1 => prop::collection::vec(any::<u8>(), 0..20)];
    let start = prop::sample::select(vec![&b""[..], b"\xef\xbb\xbf", b"\r\n", b"{", b" "]);
    (start, prop::collection::vec(part, 0..12))
        .prop_map(|(start, parts)| [start.to_vec(), parts.concat()].concat())
}

proptest! {
    #[test]
    fn request_extends_the_previous_one_exactly(dialect in dialect(), request in request()) {
        let body_of = |count: usize| {
            let messages = request.messages[..count].to_vec();
            without_markers(&encode(dialect, &ModelRequest { messages, ..request.clone() }))
        };
        for count in 1..=request.messages.len() {
            let (before, after) = (body_of(count - 1), body_of(count));
            let open = before.strip_suffix("]}").expect("the messages to stand last");
            prop_assert!(after.starts_with(open), "\n{before}\n{after}");
        }
    }

    #[test]
    fn marks_change_nothing_but_themselves(dialect in dialect(), request in request()) {
        let mut unmarked = request.clone();
        unmarked.cache.min_cacheable = usize::MAX;
        let body = encode(dialect, &request);
        prop_assert_eq!(without_markers(&body), encode(dialect, &unmarked));
    }

    #[test]
    fn breakpoints_are_at_most_four_and_one_hour_first(dialect in dialect(), request in request()) {
        let body = encode(dialect, &request);
        let count: usize = MARKERS.iter().map(|marker| body.matches(marker).count()).sum();
        let most = if request.cache.breakpoints == Breakpoints::Either && dialect == WireDialect::OpenAi { 3 } else { 4 };
        prop_assert!(count <= most, "{body}");
        if let (Some(short), Some(long)) = (body.find(MARKERS[0]), body.rfind(MARKERS[1])) {
            prop_assert!(long < short, "{body}");
        }
    }

    #[test]
    fn request_contains_nothing_a_provider_refuses(dialect in dialect(), request in request()) {
        let body: Value = serde_json::from_str(&encode(dialect, &request)).unwrap();
        let messages = body["messages"].as_array().unwrap().iter();
        for message in messages {
            for block in message["content"].as_array().into_iter().flatten().filter(|_| dialect == WireDialect::Anthropic) {
                prop_assert!(block["type"] != "text" || !block["text"].as_str().unwrap().trim().is_empty());
                prop_assert!(block["type"] != "tool_use" || block["input"].is_object());
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let arguments = call["function"]["arguments"].as_str().unwrap();
                prop_assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
            }
        }
    }

    #[test]
    fn answer_does_not_depend_on_chunk_boundaries(
        dialect in dialect(),
        bytes in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        prop_assert_eq!(in_pieces(dialect, &bytes, &[]), in_pieces(dialect, &bytes, &cuts));
    }

    #[test]
    fn every_answer_has_exactly_one_end(dialect in dialect(), bytes in stream()) {
        let events = in_pieces(dialect, &bytes, &[]);
        let ends = |event: &&Result<ModelEvent, _>| matches!(event, Err(_) | Ok(ModelEvent::Stopped(_)));
        prop_assert_eq!(events.iter().filter(ends).count(), 1);
        prop_assert!(events.last().as_ref().is_some_and(ends));
    }

    #[test]
    fn invalid_answer_is_an_error_without_panic(dialect in dialect(), bytes in any::<Vec<u8>>()) {
        prop_assert!(in_pieces(dialect, &bytes, &[]).last().is_some_and(Result::is_err));
    }
}
