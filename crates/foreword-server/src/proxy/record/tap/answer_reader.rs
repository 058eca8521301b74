//! Extracts usage, ids, stop reason and errors from responses of either dialect.

use std::sync::LazyLock;

use foreword_core::model::{AnthropicUsage, openai_usage, reported_cost};
use foreword_core::provider::WireDialect;
use foreword_prompt::untrusted::display_line;
use memchr::memmem::Finder;
use serde_json::Value;

use super::AnswerSummary;

const MAX_ERROR_CHARS: usize = 300;
const MAX_NAME_CHARS: usize = 200;

pub(super) static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"error\""));
static FINISH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"finish_reason\""));

/// Whether the JSON has a member of this name whose value starts with one of `first`. Inside a string the closing quote
/// would be escaped.
pub(super) fn has_member(name: &Finder<'_>, data: &[u8], first: &[u8]) -> bool {
    name.find_iter(data).any(|at| {
        let behind = &data[at + name.needle().len()..];
        let mut value = behind.iter().filter(|byte| !byte.is_ascii_whitespace());
        value.next() == Some(&b':') && value.next().is_some_and(|byte| first.contains(byte))
    })
}

/// Collects the data of a response.
#[derive(Debug)]
pub(super) struct AnswerReader {
    dialect: WireDialect,
    usage: AnthropicUsage,
    found: AnswerSummary,
}

impl AnswerReader {
    pub(super) fn new(dialect: WireDialect) -> Self {
        Self { dialect, usage: AnthropicUsage::default(), found: AnswerSummary::default() }
    }

    pub(super) fn dialect(&self) -> WireDialect {
        self.dialect
    }

    pub(super) fn found(self) -> AnswerSummary {
        self.found
    }

    /// Whether a chunk contains more than text: the first one has the ids, the last ones the usage.
    pub(super) fn is_relevant_chunk(&self, data: &[u8]) -> bool {
        self.found.answer_id.is_none()
            || has_member(&FINISH, data, b"\"")
            || has_member(&USAGE, data, b"{")
            || self.has_error(data)
    }

    pub(super) fn has_error(&self, data: &[u8]) -> bool {
        has_member(&ERROR, data, b"{\"")
    }

    /// Handles an event of a stream.
    pub(super) fn event(&mut self, data: &Value) {
        match self.dialect {
            WireDialect::Anthropic => {
                self.names(&data["message"]);
                let parts = [&data["message"], &data["delta"], data];
                for part in parts {
                    self.ending(part);
                }
                self.error(&data["error"]);
            }
            WireDialect::OpenAi => {
                self.names(data);
                if let Some(reason) = data["choices"][0]["finish_reason"].as_str() {
                    self.found.stop_reason = Some(display_line(reason, MAX_NAME_CHARS));
                }
                self.count(&data["usage"]);
                self.error(&data["error"]);
            }
        }
    }

    /// Handles a member of a response that is not streamed.
    pub(super) fn member(&mut self, name: &str, value: &Value) {
        let text = || value.as_str().map(|text| display_line(text, MAX_NAME_CHARS));
        match name {
            "id" => self.found.answer_id = text(),
            "model" => self.found.model = text(),
            "stop_reason" | "finish_reason" => self.found.stop_reason = text(),
            "usage" => self.count(value),
            "diagnostics" => self.diagnostics(value),
            "error" => self.error(value),
            _ => {}
        }
    }

    fn names(&mut self, value: &Value) {
        let text = |name: &str| value[name].as_str().map(|text| display_line(text, MAX_NAME_CHARS));
        self.found.answer_id = self.found.answer_id.take().or_else(|| text("id"));
        self.found.model = self.found.model.take().or_else(|| text("model"));
    }

    fn ending(&mut self, value: &Value) {
        if let Some(reason) = value["stop_reason"].as_str() {
            self.found.stop_reason = Some(display_line(reason, MAX_NAME_CHARS));
        }
        self.count(&value["usage"]);
        self.diagnostics(&value["diagnostics"]);
    }

    fn diagnostics(&mut self, value: &Value) {
        if let Some(reason) = value["cache_miss_reason"]["type"].as_str() {
            self.found.miss = Some(display_line(reason, MAX_NAME_CHARS));
        }
    }

    fn count(&mut self, value: &Value) {
        let usage = match self.dialect {
            WireDialect::Anthropic => self.usage.add(value),
            WireDialect::OpenAi => openai_usage(value),
        };
        self.found.usage = usage.or(self.found.usage);
        self.found.cost = reported_cost(value).or(self.found.cost);
    }

    fn error(&mut self, value: &Value) {
        let words = match value {
            Value::String(words) => words.as_str(),
            Value::Object(_) => {
                value["message"].as_str().unwrap_or("the provider reports an error without a message")
            }
            _ => return,
        };
        self.found.error = Some(display_line(words, MAX_ERROR_CHARS));
        let kind = value["type"].as_str().or_else(|| value["code"].as_str());
        self.found.error_type = kind.map(|kind| display_line(kind, MAX_NAME_CHARS));
    }
}
