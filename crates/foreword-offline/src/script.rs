//! The script of an answer: computed in `answer`, performed in `perform`.

use std::time::Duration;

use foreword_core::message::Usage;
use foreword_core::model::{ErrorKind, StopReason};
use serde_json::Value;

/// An answer as a value: its parts in order, and how to stream them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnswerScript {
    /// Text, calls, delays and failures, in order.
    pub pieces: Vec<AnswerPart>,
    /// The stop reason, if it differs from the natural one.
    pub stop: Option<StopReason>,
    /// The pause between two words.
    pub pause: Option<Duration>,
    /// Overrides of the reported usage.
    pub usage: ReportedUsage,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// Text, streamed word by word.
    Text(String),
    /// A tool call. A string as input represents arguments that are not valid JSON.
    Call {
        /// The tool.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// A provider-specific block.
    Block(Value),
    /// A delay.
    Wait(Duration),
    /// A stream that never continues.
    Hang,
    /// A failure that ends the answer.
    Fail(ScriptedFailure),
}

/// A simulated failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedFailure {
    /// The error kind.
    pub kind: ErrorKind,
    /// The HTTP status, or `None` for a network failure.
    pub status: Option<u16>,
    /// The error message.
    pub message: String,
    /// The `retry-after` delay.
    pub retry_after: Option<Duration>,
    /// The text sent before the failure.
    pub said: String,
    /// How many attempts fail before one succeeds; `None` means all.
    pub times: Option<u32>,
}

/// Overrides of the reported usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportedUsage {
    /// Overrides [`Usage::input`].
    pub input: Option<u64>,
    /// Overrides [`Usage::output`].
    pub output: Option<u64>,
    /// Overrides [`Usage::cache_read`].
    pub cache_read: Option<u64>,
    /// Overrides [`Usage::cache_write`].
    pub cache_write: Option<u64>,
    /// Overrides [`Usage::cache_write_1h`].
    pub cache_write_1h: Option<u64>,
}

impl AnswerScript {
    /// A text answer.
    #[must_use]
    pub fn say(text: impl Into<String>) -> Self {
        Self { pieces: vec![AnswerPart::Text(text.into())], ..Self::default() }
    }

    /// All text of the answer.
    #[must_use]
    pub fn text(&self) -> String {
        let words = self.pieces.iter().filter_map(|piece| match piece {
            AnswerPart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        words.collect()
    }

    /// The tool calls with their input, in order.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pieces.iter().filter_map(|piece| match piece {
            AnswerPart::Call { name, input } => Some((name.as_str(), input)),
            _ => None,
        })
    }
}

impl ReportedUsage {
    /// `counted` with these overrides.
    #[must_use]
    pub fn over(self, counted: Usage) -> Usage {
        Usage {
            input: self.input.unwrap_or(counted.input),
            output: self.output.unwrap_or(counted.output),
            cache_read: self.cache_read.unwrap_or(counted.cache_read),
            cache_write: self.cache_write.unwrap_or(counted.cache_write),
            cache_write_1h: self.cache_write_1h.unwrap_or(counted.cache_write_1h),
            cache_unknown: counted.cache_unknown,
        }
    }
}
