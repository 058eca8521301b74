//! Splits a stream into events. Lines within one chunk are read in place; split ones are buffered, unless they are too
//! long to be relevant.

use foreword_core::provider::WireDialect;

use super::BYTES_OF_TOKEN;
use super::answer_reader::{AnswerReader, USAGE, has_member};

/// The longest buffered line. Relevant ones have a few hundred bytes.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The size of `"content":""`, which events without text lack.
const CONTENT_FIELD_BYTES: u64 = 16;
/// The size of an event's name and line ends.
const EVENT_FRAME_BYTES: u64 = 8;
/// The maximum for the envelope: the only event of a stream contains text too.
const MAX_ENVELOPE_BYTES: u64 = 512;

#[derive(Debug, Default)]
pub(super) struct Events {
    /// The beginning of an incomplete line.
    held: Vec<u8>,
    /// Whether the current line is too long.
    too_long: bool,
    relevance: Relevance,
    /// Number of events, total size, and size of the shortest event.
    count: u64,
    bytes: u64,
    shortest: Option<u64>,
}

/// The relevance of the current event, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Relevance {
    #[default]
    Unknown,
    /// Contains usage, ids or an error.
    Relevant,
    /// Contains a piece of the answer.
    Irrelevant,
}

impl Events {
    pub(super) fn feed(&mut self, mut piece: &[u8], reader: &mut AnswerReader) {
        self.bytes += piece.len() as u64;
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            if std::mem::take(&mut self.too_long) {
                self.held.clear();
            } else if self.held.is_empty() {
                self.line(line, reader);
            } else {
                let mut held = std::mem::take(&mut self.held);
                if held.len() + line.len() <= MAX_LINE_BYTES {
                    held.extend_from_slice(line);
                    self.line(&held, reader);
                }
                held.clear();
                self.held = held;
            }
            piece = rest;
        }
        self.hold(piece);
    }

    /// At the end of the stream the buffer is a line.
    pub(super) fn end(&mut self, reader: &mut AnswerReader) {
        let held = std::mem::take(&mut self.held);
        if !self.too_long {
            self.line(&held, reader);
        }
    }

    fn hold(&mut self, piece: &[u8]) {
        if self.too_long || self.held.len() + piece.len() > MAX_LINE_BYTES {
            self.too_long = true;
            self.held.clear();
        } else {
            self.held.extend_from_slice(piece);
        }
    }

    fn line(&mut self, line: &[u8], reader: &mut AnswerReader) {
        if line.len() > MAX_LINE_BYTES {
            return;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(data) = line.strip_prefix(b"data:") {
            self.data(data, reader);
        } else if let Some(name) = line.strip_prefix(b"event:") {
            self.relevance = match name.trim_ascii() {
                b"message_start" | b"message_delta" | b"error" => Relevance::Relevant,
                b"content_block_start"
                | b"content_block_delta"
                | b"content_block_stop"
                | b"message_stop"
                | b"ping" => Relevance::Irrelevant,
                _ => Relevance::Unknown,
            };
        } else if line.is_empty() {
            self.relevance = Relevance::Unknown;
        }
    }

    /// The estimated number of output tokens: at least one per event, and the bytes beyond the shortest event, which
    /// approximates the envelope.
    pub(super) fn estimated_output(&self) -> u64 {
        let envelope = (self.shortest.unwrap_or_default() + CONTENT_FIELD_BYTES).min(MAX_ENVELOPE_BYTES)
            + EVENT_FRAME_BYTES;
        let envelope = self.count * envelope;
        self.count.max(self.bytes.saturating_sub(envelope).div_ceil(BYTES_OF_TOKEN))
    }

    fn data(&mut self, data: &[u8], reader: &mut AnswerReader) {
        let length = data.len() as u64;
        if data.trim_ascii() != b"[DONE]" {
            self.count += 1;
            self.shortest = Some(self.shortest.map_or(length, |shortest| shortest.min(length)));
        }
        let matters = match (self.relevance, reader.dialect()) {
            (Relevance::Irrelevant, WireDialect::Anthropic) => false,
            (Relevance::Relevant, _) => true,
            (_, WireDialect::Anthropic) => has_member(&USAGE, data, b"{") || reader.has_error(data),
            (_, WireDialect::OpenAi) => reader.is_relevant_chunk(data),
        };
        if matters && let Ok(data) = serde_json::from_slice(data) {
            reader.event(&data);
        }
    }
}
