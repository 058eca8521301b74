//! What the words of a dialect mean.

use std::sync::LazyLock;

use foreword_core::model::{AnthropicUsage, openai_usage};
use foreword_core::provider::WireDialect;
use foreword_prompt::untrusted::display_line;
use memchr::memmem::Finder;
use serde_json::Value;

use super::Tapped;

/// The most characters of a provider's own words.
const WORDS: usize = 300;
/// The most characters of a name.
const NAME: usize = 200;

pub(super) static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"error\""));
static FINISH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"finish_reason\""));

/// Whether a member of this name is there, with a value that begins with one of `first`. A text that merely mentions it has
/// a backslash before its second quote.
pub(super) fn says(name: &Finder<'_>, data: &[u8], first: &[u8]) -> bool {
    name.find_iter(data).any(|at| {
        let behind = &data[at + name.needle().len()..];
        let mut value = behind.iter().filter(|byte| !byte.is_ascii_whitespace());
        value.next() == Some(&b':') && value.next().is_some_and(|byte| first.contains(byte))
    })
}

/// Reads what an answer says of itself.
#[derive(Debug)]
pub(super) struct Reading {
    dialect: WireDialect,
    usage: AnthropicUsage,
    found: Tapped,
}

impl Reading {
    pub(super) fn new(dialect: WireDialect) -> Self {
        Self { dialect, usage: AnthropicUsage::default(), found: Tapped::default() }
    }

    pub(super) fn dialect(&self) -> WireDialect {
        self.dialect
    }

    pub(super) fn found(self) -> Tapped {
        self.found
    }

    /// Whether this chunk says more than words: the first has the names, the last ones the end.
    pub(super) fn is_news(&self, data: &[u8]) -> bool {
        self.found.answer_id.is_none()
            || says(&FINISH, data, b"\"")
            || says(&USAGE, data, b"{")
            || self.says_error(data)
    }

    pub(super) fn says_error(&self, data: &[u8]) -> bool {
        says(&ERROR, data, b"{\"")
    }

    /// An event of a stream.
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
                    self.found.stop_reason = Some(display_line(reason, NAME));
                }
                self.count(&data["usage"]);
                self.error(&data["error"]);
            }
        }
    }

    /// A member of a whole answer.
    pub(super) fn member(&mut self, name: &str, value: &Value) {
        let text = || value.as_str().map(|text| display_line(text, NAME));
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

    fn names(&mut self, said: &Value) {
        let text = |name: &str| said[name].as_str().map(|text| display_line(text, NAME));
        self.found.answer_id = self.found.answer_id.take().or_else(|| text("id"));
        self.found.model = self.found.model.take().or_else(|| text("model"));
    }

    fn ending(&mut self, said: &Value) {
        if let Some(reason) = said["stop_reason"].as_str() {
            self.found.stop_reason = Some(display_line(reason, NAME));
        }
        self.count(&said["usage"]);
        self.diagnostics(&said["diagnostics"]);
    }

    fn diagnostics(&mut self, said: &Value) {
        if let Some(reason) = said["cache_miss_reason"]["type"].as_str() {
            self.found.miss = Some(display_line(reason, NAME));
        }
    }

    fn count(&mut self, said: &Value) {
        let usage = match self.dialect {
            WireDialect::Anthropic => self.usage.add(said),
            WireDialect::OpenAi => openai_usage(said),
        };
        self.found.usage = usage.or(self.found.usage);
    }

    fn error(&mut self, said: &Value) {
        let words = match said {
            Value::String(words) => words.as_str(),
            Value::Object(_) => {
                said["message"].as_str().unwrap_or("the provider reports an error and says no more")
            }
            _ => return,
        };
        self.found.error = Some(display_line(words, WORDS));
        let kind = said["type"].as_str().or_else(|| said["code"].as_str());
        self.found.error_type = kind.map(|kind| display_line(kind, NAME));
    }
}
