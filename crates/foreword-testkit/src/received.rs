//! The requests received by a fake provider, byte for byte.

use std::time::Instant;

use foreword_core::provider::WireDialect;
use serde_json::Value;

/// A received request.
#[derive(Debug, Clone)]
pub struct Received {
    /// The number of the request, from 0.
    pub number: usize,
    /// The number of its connection, from 0.
    pub connection: usize,
    /// When its first byte arrived.
    pub first_byte_at: Instant,
    /// The HTTP method.
    pub method: String,
    /// The path, with the query if there is one.
    pub path: String,
    /// In the order received, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Received {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON, or `null` if it is not valid JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The dialect, by the path.
    #[must_use]
    pub fn dialect(&self) -> Option<WireDialect> {
        let path = self.path.split('?').next().unwrap_or_default();
        if path.ends_with("/messages") {
            Some(WireDialect::Anthropic)
        } else if path.ends_with("/chat/completions") {
            Some(WireDialect::OpenAi)
        } else {
            None
        }
    }

    /// All texts of the messages in order, one per line, without the system prompt. For closures that answer by
    /// content.
    #[must_use]
    pub fn conversation(&self) -> String {
        let request = self.json();
        let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let said = messages.iter().filter(|message| message["role"] != "system");
        let mut lines = Vec::new();
        said.for_each(|message| words_of(&message["content"], &mut lines));
        lines.join("\n")
    }
}

fn words_of(content: &Value, lines: &mut Vec<String>) {
    match content {
        Value::String(text) => lines.push(text.clone()),
        Value::Array(blocks) => blocks.iter().for_each(|block| {
            words_of(&block["text"], lines);
            words_of(&block["content"], lines);
        }),
        _ => {}
    }
}
