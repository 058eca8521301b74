//! What the offline model is going to do, as a value: decided in `answer`, done in `perform`.

use std::time::Duration;

use foreword_core::message::Usage;
use foreword_core::model::{ErrorKind, StopReason};
use serde_json::Value;

/// An answer before it is given: its pieces in order, and how they are to be given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// What is said, called, waited for or broken off, one after the other.
    pub pieces: Vec<Piece>,
    /// How it ends, if not in the way that follows from the pieces.
    pub stop: Option<StopReason>,
    /// How long to wait between two pieces of text.
    pub pause: Option<Duration>,
    /// What to report instead of what was counted.
    pub usage: ReportedUsage,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words, to be streamed one by one.
    Text(String),
    /// A call of a tool. An input that is a text stands for arguments that are no JSON.
    Call {
        /// The tool.
        name: String,
        /// What it is called with.
        input: Value,
    },
    /// A block only its provider understands.
    Block(Value),
    /// Silence for a while.
    Wait(Duration),
    /// Silence until the call is given up.
    Hang,
    /// The call fails here.
    Fail(Failure),
}

/// A failure to act out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What sort of failure.
    pub kind: ErrorKind,
    /// The HTTP status, if there is to be an answer at all.
    pub status: Option<u16>,
    /// What the provider, or the network, is made to say.
    pub message: String,
    /// How long the provider is made to want to be left alone.
    pub retry_after: Option<Duration>,
    /// The words that come before it.
    pub said: String,
    /// How many attempts fail before one succeeds; `None` is all of them.
    pub times: Option<u32>,
}

/// Numbers to report instead of what was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportedUsage {
    /// Instead of [`Usage::input`].
    pub input: Option<u64>,
    /// Instead of [`Usage::output`].
    pub output: Option<u64>,
    /// Instead of [`Usage::cache_read`].
    pub cache_read: Option<u64>,
    /// Instead of [`Usage::cache_write`].
    pub cache_write: Option<u64>,
    /// Instead of [`Usage::cache_write_1h`].
    pub cache_write_1h: Option<u64>,
}

impl Script {
    /// An answer in words.
    #[must_use]
    pub fn say(text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece::Text(text.into())], ..Self::default() }
    }

    /// All its words.
    #[must_use]
    pub fn text(&self) -> String {
        let words = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            _ => None,
        });
        words.collect()
    }

    /// The tools it calls and what with, in order.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Call { name, input } => Some((name.as_str(), input)),
            _ => None,
        })
    }
}

impl ReportedUsage {
    /// `counted`, with these numbers in place of its own.
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
