//! Responses as providers send them, whole and in chunks.

use proptest::prelude::*;

use super::*;

const ANTHROPIC: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude-haiku-4-5\",\"usage\":{\"input_tokens\":12,\"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":50,\"output_tokens\":1},\"diagnostics\":{\"cache_miss_reason\":{\"type\":\"system_changed\"}}}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"\\\"usage\\\": {\\\"error\\\":\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":44}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

const OPENAI: &str = "data: {\"id\":\"chatcmpl-1\",\"model\":\"gpt-x\",\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-1\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":896}}}\n\ndata: [DONE]\n\n";

const WHOLE_ANTHROPIC: &str = r#" {"id":"msg_2","type":"message","model":"claude-haiku-4-5","content":[{"type":"text","text":"the \"usage\":{\"input_tokens\":5} of \\"},{"id":"toolu_1","model":"x","usage":{"input_tokens":3}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":3}}"#;

const WHOLE_OPENAI: &str = r#"{"id":"chatcmpl-2","object":"chat.completion","model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"x","finish_reason":"no"},"finish_reason":"length"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;

const REFUSED: &str =
    r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded\nfor now"}}"#;

const BROKEN: &str = "event: message_start\ndata: {\"message\":{\"id\":\"msg_3\",\"usage\":{\"input_tokens\":12}}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";

fn whole(dialect: WireDialect, is_stream: bool, answer: &[u8]) -> AnswerSummary {
    pieces(dialect, is_stream, &[answer])
}

fn pieces(dialect: WireDialect, is_stream: bool, pieces: &[&[u8]]) -> AnswerSummary {
    let mut tap = Tap::new(dialect, is_stream);
    pieces.iter().for_each(|piece| tap.feed(piece));
    tap.end()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn anthropic_stream_yields_usage_and_stop_reason() {
    let usage = Usage { input: 12, output: 44, cache_read: 900, cache_write: 50, ..Usage::default() };
    let expected = AnswerSummary {
        usage: Some(usage),
        model: text("claude-haiku-4-5"),
        answer_id: text("msg_1"),
        stop_reason: text("end_turn"),
        miss: text("system_changed"),
        estimated_output: 97,
        ..AnswerSummary::default()
    };
    assert_eq!(whole(WireDialect::Anthropic, true, ANTHROPIC.as_bytes()), expected);
    let with_returns = ANTHROPIC.replace('\n', "\r\n");
    // Carriage returns add a few bytes.
    let returned = AnswerSummary { estimated_output: 101, ..expected };
    assert_eq!(whole(WireDialect::Anthropic, true, with_returns.as_bytes()), returned);
}

#[test]
fn stream_without_event_names_is_read() {
    let unnamed: String =
        ANTHROPIC.lines().filter(|line| !line.starts_with("event")).map(|line| format!("{line}\n")).collect();
    let read = whole(WireDialect::Anthropic, true, unnamed.as_bytes());
    assert_eq!(read.usage, whole(WireDialect::Anthropic, true, ANTHROPIC.as_bytes()).usage);
    assert_eq!((read.answer_id, read.error), (text("msg_1"), None));
}

#[test]
fn openai_stream_yields_usage_of_last_chunk() {
    let read = whole(WireDialect::OpenAi, true, OPENAI.as_bytes());
    assert_eq!(read.usage, Some(Usage { input: 104, output: 7, cache_read: 896, ..Usage::default() }));
    assert_eq!(
        (read.answer_id, read.model, read.stop_reason),
        (text("chatcmpl-1"), text("gpt-x"), text("stop"))
    );
    // Without `stream_options` there is no usage, which is not zero usage.
    let silent = OPENAI.split("data: {\"id\":\"chatcmpl-1\",\"choices\":[],").next().unwrap();
    assert_eq!(whole(WireDialect::OpenAi, true, silent.as_bytes()).usage, None);
}

#[test]
fn nested_members_of_an_answer_are_ignored() {
    let read = whole(WireDialect::Anthropic, false, WHOLE_ANTHROPIC.as_bytes());
    let usage = Usage { input: 9, output: 3, cache_unknown: true, ..Usage::default() };
    assert_eq!((read.usage, read.answer_id), (Some(usage), text("msg_2")));
    assert_eq!((read.stop_reason, read.model), (text("tool_use"), text("claude-haiku-4-5")));
    let read = whole(WireDialect::OpenAi, false, WHOLE_OPENAI.as_bytes());
    let usage = Usage { input: 10, output: 2, cache_unknown: true, ..Usage::default() };
    assert_eq!((read.usage, read.stop_reason), (Some(usage), text("length")));
}

#[test]
fn provider_errors_are_kept_on_one_line() {
    // JSON, although a stream was requested.
    let read = whole(WireDialect::Anthropic, true, REFUSED.as_bytes());
    assert_eq!(read.error_type, text("overloaded_error"));
    assert_eq!(read.error.as_deref().map(|words| words.contains('\n')), Some(false));
    let read = whole(WireDialect::Anthropic, true, BROKEN.as_bytes());
    assert_eq!((read.error, read.usage.map(|usage| usage.input)), (text("Overloaded"), Some(12)));
    let read = whole(WireDialect::OpenAi, false, br#"{"error":"no such model"}"#);
    assert_eq!(read.error, text("no such model"));
}

#[test]
fn output_estimate_excludes_event_envelopes() {
    let stream = |words: &str, count: usize| {
        let around = "x".repeat(250);
        let event =
            |delta: &str| format!("data: {{\"id\":\"chatcmpl-1{around}\",\"delta\":{{{delta}}}}}\n\n");
        let (event, end) = (event(&format!("\"content\":\"{words}\"")), event("") + "data: [DONE]\n\n");
        whole(WireDialect::OpenAi, true, (event.repeat(count) + &end).as_bytes()).estimated_output
    };
    // One token per event, ten per event, and all in one.
    assert_eq!(stream(" word", 1_000), 1_001);
    assert_eq!(stream(&" word".repeat(10), 100), 1_125);
    assert_eq!(stream(&" word".repeat(1_000), 1), 1_248);
    assert_eq!(whole(WireDialect::OpenAi, false, WHOLE_OPENAI.as_bytes()).estimated_output, 57);
}

#[test]
fn memory_is_bounded_for_long_events() {
    let mut tap = Tap::new(WireDialect::Anthropic, true);
    tap.feed(b"data: ");
    for _ in 0..1_000 {
        tap.feed(&[b'x'; 10_000]);
        let AnswerFormat::Events(events) = &tap.form else { panic!() };
        assert!(format!("{events:?}").len() < 400_000);
    }
    tap.feed(b"\n\n");
    tap.feed(ANTHROPIC.as_bytes());
    assert_eq!(tap.end().answer_id, text("msg_1"));
    let long = format!(r#"{{"usage":{{"x":"{}"}},"id":"msg_9"}}"#, "y".repeat(1_000_000));
    let read = whole(WireDialect::Anthropic, false, long.as_bytes());
    assert_eq!((read.usage, read.answer_id), (None, text("msg_9")));
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_matter(
        which in 0..6_usize,
        cuts in prop::collection::vec(0.0..1.0_f64, 0..12),
    ) {
        let (dialect, is_stream, answer) = [
            (WireDialect::Anthropic, true, ANTHROPIC),
            (WireDialect::OpenAi, true, OPENAI),
            (WireDialect::Anthropic, false, WHOLE_ANTHROPIC),
            (WireDialect::OpenAi, false, WHOLE_OPENAI),
            (WireDialect::Anthropic, true, REFUSED),
            (WireDialect::Anthropic, true, BROKEN),
        ][which];
        let answer = answer.as_bytes();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| (cut * answer.len() as f64) as usize).collect();
        ends.push(answer.len());
        ends.sort_unstable();
        let mut from = 0;
        let parts: Vec<&[u8]> = ends.iter().map(|end| &answer[std::mem::replace(&mut from, *end)..*end]).collect();
        prop_assert_eq!(pieces(dialect, is_stream, &parts), whole(dialect, is_stream, answer));
    }

    #[test]
    fn garbage_never_panics(garbage in prop::collection::vec(
        prop_oneof![Just(b'"'), Just(b'{'), Just(b'}'), Just(b'['), Just(b','), Just(b':'), Just(b'\n'), Just(b'\\'), any::<u8>()],
        0..300,
    ), is_stream in any::<bool>()) {
        for dialect in [WireDialect::Anthropic, WireDialect::OpenAi] {
            let _ = whole(dialect, is_stream, &garbage);
            let event = [b"data: ", &garbage[..], b"\n\n", ANTHROPIC.as_bytes()].concat();
            let _ = whole(dialect, is_stream, &event);
        }
    }
}
