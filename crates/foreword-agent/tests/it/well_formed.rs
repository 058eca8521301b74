//! What providers refuse a request for, whatever is in it: looked for in the bytes that were really sent.

use std::collections::BTreeSet;

use foreword_core::provider::WireDialect;
use foreword_testkit::Received;
use serde_json::Value;

/// Every request that was sent could be answered.
pub(crate) fn all_well_formed(requests: &[Received]) {
    for request in requests {
        let body = request.json();
        let problem = match request.dialect() {
            Some(WireDialect::Anthropic) => anthropic(&body),
            Some(WireDialect::OpenAi) => openai(&body),
            None => Some(format!("nobody listens at `{}`", request.path)),
        };
        assert_eq!(problem, None, "request {}: {body:#}", request.number);
    }
}

fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn anthropic(body: &Value) -> Option<String> {
    let messages = messages(body);
    if messages.first()?["role"] != "user" || messages.last()?["role"] != "user" {
        return Some("it does not begin and end with a user's message".to_owned());
    }
    let mut open: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for message in messages {
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        if blocks.is_empty() {
            return Some(format!("an empty message: {message}"));
        }
        let is = |kind: &'static str| move |block: &&Value| block["type"] == kind;
        let results: Vec<String> =
            blocks.iter().filter(is("tool_result")).map(|block| word(&block["tool_use_id"])).collect();
        if results != open {
            return Some(format!("calls {open:?} have results {results:?}"));
        }
        if blocks.iter().skip(results.len()).any(|block| is("tool_result")(&block)) {
            return Some("a result stands behind words".to_owned());
        }
        open = blocks.iter().filter(is("tool_use")).map(|block| word(&block["id"])).collect();
        if let Some(twice) = open.iter().find(|id| !seen.insert((*id).clone())) {
            return Some(format!("call `{twice}` is there twice"));
        }
        if let Some(bad) = blocks.iter().filter(is("tool_use")).find(|block| !block["input"].is_object()) {
            return Some(format!("arguments that are no object: {bad}"));
        }
        if let Some(bad) = blocks.iter().filter(is("tool_use")).find(|block| !is_name(&word(&block["name"])))
        {
            return Some(format!("a name no tool may have: {bad}"));
        }
        if blocks.iter().filter(is("text")).any(|block| word(&block["text"]).trim().is_empty()) {
            return Some("a text without words".to_owned());
        }
    }
    (!open.is_empty()).then(|| format!("calls {open:?} have no results"))
}

fn openai(body: &Value) -> Option<String> {
    let messages = messages(body);
    if messages.last()?["role"] == "assistant" {
        return Some("the assistant has the last word".to_owned());
    }
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = word(&message["tool_call_id"]);
            let Some(at) = open.iter().position(|call| *call == id) else {
                return Some(format!("a result for `{id}`, which was not called"));
            };
            open.remove(at);
            continue;
        }
        if !open.is_empty() {
            return Some(format!("calls {open:?} have no results"));
        }
        let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        for call in calls {
            let arguments = word(&call["function"]["arguments"]);
            if !is_name(&word(&call["function"]["name"])) {
                return Some(format!("a name no tool may have: {call}"));
            }
            if !serde_json::from_str::<Value>(&arguments).is_ok_and(|arguments| arguments.is_object()) {
                return Some(format!("arguments that are no object: {arguments}"));
            }
        }
        open = calls.iter().map(|call| word(&call["id"])).collect();
        let wordless = match &message["content"] {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(parts) => parts.is_empty(),
            _ => true,
        };
        if wordless && calls.is_empty() {
            return Some(format!("an empty message: {message}"));
        }
    }
    (!open.is_empty()).then(|| format!("calls {open:?} have no results"))
}

/// As both Anthropic and OpenAI want the names of tools.
fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
