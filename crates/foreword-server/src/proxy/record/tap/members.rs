//! Extracts top-level members from a JSON response while it is streamed. Skips nested values and long strings.

use foreword_core::provider::WireDialect;
use serde_json::Value;

use super::answer_reader::AnswerReader;

const MAX_VALUE_BYTES: usize = 16 * 1024;
const MAX_DEPTH: u32 = 127;
/// The longest relevant name.
const MAX_NAME_BYTES: usize = 16;

#[derive(Debug)]
pub(super) struct Members {
    dialect: WireDialect,
    /// The open brackets as bits; 1 is an object.
    open: u128,
    depth: u32,
    position: Position,
    name: Vec<u8>,
    /// Whether the next string in an object is a name.
    name_next: bool,
    /// The buffered value and its depth.
    value: Option<(Vec<u8>, u32)>,
    /// Not valid JSON: nothing more can be extracted.
    invalid: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Outside,
    InText {
        is_name: bool,
    },
    /// After a backslash in a string.
    Escaped {
        is_name: bool,
    },
}

impl Members {
    pub(super) fn new(dialect: WireDialect) -> Self {
        Self {
            dialect,
            open: 0,
            depth: 0,
            position: Position::Outside,
            name: Vec::new(),
            name_next: false,
            value: None,
            invalid: false,
        }
    }

    pub(super) fn feed(&mut self, piece: &[u8], reader: &mut AnswerReader) {
        let mut at = 0;
        while at < piece.len() && !self.invalid {
            at = match self.position {
                Position::Outside => {
                    self.outside_string(piece[at], reader);
                    at + 1
                }
                Position::InText { is_name } => self.in_text(piece, at, is_name),
                Position::Escaped { is_name } => {
                    self.append(&piece[at..=at], is_name);
                    self.position = Position::InText { is_name };
                    at + 1
                }
            };
        }
    }

    /// Advances to the next quote or backslash.
    fn in_text(&mut self, piece: &[u8], at: usize, is_name: bool) -> usize {
        let Some(found) = memchr::memchr2(b'"', b'\\', &piece[at..]) else {
            self.append(&piece[at..], is_name);
            return piece.len();
        };
        let end = at + found;
        if piece[end] == b'"' {
            self.append(&piece[at..end], is_name);
            self.keep_value(b"\"");
            self.position = Position::Outside;
        } else {
            self.append(&piece[at..=end], is_name);
            self.position = Position::Escaped { is_name };
        }
        end + 1
    }

    fn outside_string(&mut self, byte: u8, reader: &mut AnswerReader) {
        match byte {
            b'"' => {
                let is_name = std::mem::take(&mut self.name_next) && self.value.is_none();
                if is_name {
                    self.name.clear();
                }
                self.keep_value(b"\"");
                self.position = Position::InText { is_name };
            }
            b'{' | b'[' => {
                self.keep_value(&[byte]);
                self.invalid |= self.depth == MAX_DEPTH;
                self.open = (self.open << 1) | u128::from(byte == b'{');
                self.depth += 1;
                self.name_next = byte == b'{';
            }
            b'}' | b']' => {
                self.value_ends(reader);
                self.keep_value(&[byte]);
                self.invalid |= self.depth == 0 || (self.open & 1 == 1) != (byte == b'}');
                self.open >>= 1;
                self.depth = self.depth.saturating_sub(1);
                self.name_next = false;
            }
            b',' => {
                self.value_ends(reader);
                self.keep_value(b",");
                self.name_next = self.open & 1 == 1;
            }
            b':' if self.value.is_none() && self.is_relevant() => self.value = Some((Vec::new(), self.depth)),
            other => self.keep_value(&[other]),
        }
    }

    /// Whether the current member is relevant.
    fn is_relevant(&self) -> bool {
        match (self.dialect, self.depth, self.name.as_slice()) {
            (_, 1, b"id" | b"model" | b"usage" | b"error") => true,
            (WireDialect::Anthropic, 1, b"stop_reason" | b"diagnostics") => true,
            // In an object of the array `choices`.
            (WireDialect::OpenAi, 3, b"finish_reason") => true,
            _ => false,
        }
    }

    fn append(&mut self, bytes: &[u8], is_name: bool) {
        if is_name {
            let room = (MAX_NAME_BYTES + 1).saturating_sub(self.name.len());
            self.name.extend_from_slice(&bytes[..bytes.len().min(room)]);
        } else {
            self.keep_value(bytes);
        }
    }

    fn keep_value(&mut self, bytes: &[u8]) {
        if let Some((value, _)) = &mut self.value
            && value.len() <= MAX_VALUE_BYTES
        {
            let room = MAX_VALUE_BYTES + 1 - value.len();
            value.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// A comma or bracket at the value's depth ends it.
    fn value_ends(&mut self, reader: &mut AnswerReader) {
        let Some((value, _)) = self.value.take_if(|(_, depth)| *depth == self.depth) else { return };
        let name = std::str::from_utf8(&self.name).unwrap_or_default();
        if value.len() <= MAX_VALUE_BYTES
            && let Ok(value) = serde_json::from_slice::<Value>(&value)
        {
            reader.member(name, &value);
        }
    }
}
