//! Requests and answers shared by the tests of both dialects.

use foreword_core::id::CallId;
use foreword_core::message::ContentBlock;
use foreword_core::model::{CachePlan, ModelRequest, RequestMessage, RequestRole, SystemBlock};
use foreword_core::provider::WireDialect;
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;
use serde_json::{Value, json};

use super::{Decoded, Decoder};

pub(super) fn block(text: &str, class: CacheClass, tokens: usize) -> SystemBlock {
    SystemBlock { text: text.into(), class, tokens }
}

pub(super) fn message(role: RequestRole, content: Vec<ContentBlock>) -> RequestMessage {
    RequestMessage { role, content }
}

pub(super) fn call(id: &str, input: Value) -> ContentBlock {
    let id = CallId::new(id.replace(' ', "_")).unwrap();
    ContentBlock::ToolCall { id, name: "tides".to_owned(), input }
}

pub(super) fn result(id: &str, content: &str) -> ContentBlock {
    let call = CallId::new(id.replace(' ', "_")).unwrap();
    ContentBlock::ToolResult { call, content: content.to_owned(), is_error: false }
}

/// A request with every kind of content: 1,000 tokens in each system block, and four messages.
pub(super) fn layered() -> ModelRequest {
    let tides = ToolSpec::new("tides", "Tells when the water is high.", Trust::Familiar)
        .with(Parameter::required("harbour", ParameterKind::String, "Name of the harbour."));
    let clock = ToolSpec::new("clock", "Tells the time.", Trust::Public);
    let mut failed = result("toolu_2", "no such harbour");
    if let ContentBlock::ToolResult { is_error, .. } = &mut failed {
        *is_error = true;
    }
    ModelRequest {
        model: "anyone/model-1".parse().unwrap(),
        tools: [tides, clock].into(),
        system: vec![
            block("You are Assistant.", CacheClass::Static, 1_000),
            block("\n\nBe brief.", CacheClass::Agent, 1_000),
            block("\n\nYou talk to alice.", CacheClass::Conversation, 1_000),
            block("\n\nIt is Monday.", CacheClass::None, 10),
        ],
        messages: vec![
            message(RequestRole::User, vec![ContentBlock::text("When is high water in \"Faro\" & Vigo?")]),
            message(
                RequestRole::Assistant,
                vec![
                    ContentBlock::text("I'll look."),
                    call("toolu_1", json!({ "harbour": "Faro" })),
                    call("toolu_2", json!({ "harbour": "Vigo" })),
                ],
            ),
            message(RequestRole::Tool, vec![result("toolu_1", "06:12"), failed]),
            message(
                RequestRole::User,
                vec![ContentBlock::text("<turn-context>\nnoon\n</turn-context>"), ContentBlock::text("And?")],
            ),
        ],
        max_output: Some(2_048),
        cache: CachePlan { key: Some("blake3:0123".into()), min_cacheable: 1_000, ..CachePlan::NONE },
    }
}

/// The body with one block, tool or message per line, for readable snapshots.
pub(super) fn shape(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap();
    let mut lines = String::new();
    for (from, to) in [
        ("},{", "},\n  {"),
        ("[{", "[\n  {"),
        (",\"tools\"", ",\n\"tools\""),
        (",\"system\"", ",\n\"system\""),
        (",\"messages\"", ",\n\"messages\""),
    ] {
        lines = if lines.is_empty() { text.replace(from, to) } else { lines.replace(from, to) };
    }
    lines
}

/// The items decoded from a whole body, for a request with four messages.
pub(super) fn decoded(dialect: WireDialect, body: &str) -> Decoded {
    let mut decoder = Decoder::new(dialect, &layered());
    let mut out = decoder.push(body.as_bytes());
    out.extend(decoder.finish());
    out
}
