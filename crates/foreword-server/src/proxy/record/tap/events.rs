//! The events of a stream, line by line. A line that lies within a piece is looked at where it is; one that is cut is held
//! until its end, unless it gets too long to be one of those that matter.

use foreword_core::provider::WireDialect;

use super::BYTES_OF_TOKEN;
use super::reading::{Reading, USAGE, says};

/// The longest line that is held: what matters is a few hundred bytes.
const LONGEST: usize = 64 * 1024;

/// What stands around the words alone, and not in an event that has none: `"content":""`.
const AROUND_WORDS: u64 = 16;
/// What stands around an event: its name and the ends of its lines.
const AROUND_DATA: u64 = 8;
/// The most that is taken for what stands around: the only event of a stream is words too.
const MOST_AROUND: u64 = 512;

#[derive(Debug, Default)]
pub(super) struct Events {
    /// The beginning of a line whose end has not come.
    held: Vec<u8>,
    /// Whether the line that is passing is too long.
    too_long: bool,
    named: Named,
    /// How many events there were, how long everything, and how long the shortest.
    count: u64,
    bytes: u64,
    shortest: Option<u64>,
}

/// What the event that is passing is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Named {
    #[default]
    Nothing,
    /// It says what matters.
    Matters,
    /// It carries a piece of the answer.
    Passes,
}

impl Events {
    pub(super) fn feed(&mut self, mut piece: &[u8], reading: &mut Reading) {
        self.bytes += piece.len() as u64;
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            if std::mem::take(&mut self.too_long) {
                self.held.clear();
            } else if self.held.is_empty() {
                self.line(line, reading);
            } else {
                let mut held = std::mem::take(&mut self.held);
                if held.len() + line.len() <= LONGEST {
                    held.extend_from_slice(line);
                    self.line(&held, reading);
                }
                held.clear();
                self.held = held;
            }
            piece = rest;
        }
        self.hold(piece);
    }

    /// What is held is a line, if nothing comes any more.
    pub(super) fn end(&mut self, reading: &mut Reading) {
        let held = std::mem::take(&mut self.held);
        if !self.too_long {
            self.line(&held, reading);
        }
    }

    fn hold(&mut self, piece: &[u8]) {
        if self.too_long || self.held.len() + piece.len() > LONGEST {
            self.too_long = true;
            self.held.clear();
        } else {
            self.held.extend_from_slice(piece);
        }
    }

    fn line(&mut self, line: &[u8], reading: &mut Reading) {
        if line.len() > LONGEST {
            return;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(data) = line.strip_prefix(b"data:") {
            self.data(data, reading);
        } else if let Some(name) = line.strip_prefix(b"event:") {
            self.named = match name.trim_ascii() {
                b"message_start" | b"message_delta" | b"error" => Named::Matters,
                b"content_block_start"
                | b"content_block_delta"
                | b"content_block_stop"
                | b"message_stop"
                | b"ping" => Named::Passes,
                _ => Named::Nothing,
            };
        } else if line.is_empty() {
            self.named = Named::Nothing;
        }
    }

    /// About how many tokens were written. An event has one at least. What it is longer than the shortest, which has what
    /// stands around each of them, is words.
    pub(super) fn about_written(&self) -> u64 {
        let around = (self.shortest.unwrap_or_default() + AROUND_WORDS).min(MOST_AROUND) + AROUND_DATA;
        let around = self.count * around;
        self.count.max(self.bytes.saturating_sub(around).div_ceil(BYTES_OF_TOKEN))
    }

    fn data(&mut self, data: &[u8], reading: &mut Reading) {
        let length = data.len() as u64;
        if data.trim_ascii() != b"[DONE]" {
            self.count += 1;
            self.shortest = Some(self.shortest.map_or(length, |shortest| shortest.min(length)));
        }
        let matters = match (self.named, reading.dialect()) {
            (Named::Passes, WireDialect::Anthropic) => false,
            (Named::Matters, _) => true,
            (_, WireDialect::Anthropic) => says(&USAGE, data, b"{") || reading.says_error(data),
            (_, WireDialect::OpenAi) => reading.is_news(data),
        };
        if matters && let Ok(data) = serde_json::from_slice(data) {
            reading.event(&data);
        }
    }
}
