//! The members of a whole answer that matter, found as it passes: what is nested in others is skipped, and so are long texts.

use foreword_core::provider::WireDialect;
use serde_json::Value;

use super::reading::Reading;

/// The longest value that is held.
const LONGEST: usize = 16 * 1024;
/// How deep values may be nested in one another.
const DEEPEST: u32 = 127;
/// The longest name that matters.
const LONGEST_NAME: usize = 16;

#[derive(Debug)]
pub(super) struct Members {
    dialect: WireDialect,
    /// Which brackets are open, as bits: one for an object.
    open: u128,
    depth: u32,
    place: Place,
    /// The last name that was read.
    name: Vec<u8>,
    /// Whether what comes in an object next is a name.
    name_next: bool,
    /// The value that is read, and how deep it lies.
    value: Option<(Vec<u8>, u32)>,
    /// It is no JSON: nothing can be found any more.
    lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    InText {
        is_name: bool,
    },
    /// Behind a backslash in one.
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
            place: Place::Outside,
            name: Vec::new(),
            name_next: false,
            value: None,
            lost: false,
        }
    }

    pub(super) fn feed(&mut self, piece: &[u8], reading: &mut Reading) {
        let mut at = 0;
        while at < piece.len() && !self.lost {
            at = match self.place {
                Place::Outside => {
                    self.outside(piece[at], reading);
                    at + 1
                }
                Place::InText { is_name } => self.in_text(piece, at, is_name),
                Place::Escaped { is_name } => {
                    self.keep(&piece[at..=at], is_name);
                    self.place = Place::InText { is_name };
                    at + 1
                }
            };
        }
    }

    /// Goes on to the next quote or backslash.
    fn in_text(&mut self, piece: &[u8], at: usize, is_name: bool) -> usize {
        let Some(found) = memchr::memchr2(b'"', b'\\', &piece[at..]) else {
            self.keep(&piece[at..], is_name);
            return piece.len();
        };
        let end = at + found;
        if piece[end] == b'"' {
            self.keep(&piece[at..end], is_name);
            self.keep_value(b"\"");
            self.place = Place::Outside;
        } else {
            self.keep(&piece[at..=end], is_name);
            self.place = Place::Escaped { is_name };
        }
        end + 1
    }

    fn outside(&mut self, byte: u8, reading: &mut Reading) {
        match byte {
            b'"' => {
                let is_name = std::mem::take(&mut self.name_next) && self.value.is_none();
                if is_name {
                    self.name.clear();
                }
                self.keep_value(b"\"");
                self.place = Place::InText { is_name };
            }
            b'{' | b'[' => {
                self.keep_value(&[byte]);
                self.lost |= self.depth == DEEPEST;
                self.open = (self.open << 1) | u128::from(byte == b'{');
                self.depth += 1;
                self.name_next = byte == b'{';
            }
            b'}' | b']' => {
                self.value_ends(reading);
                self.keep_value(&[byte]);
                self.lost |= self.depth == 0 || (self.open & 1 == 1) != (byte == b'}');
                self.open >>= 1;
                self.depth = self.depth.saturating_sub(1);
                self.name_next = false;
            }
            b',' => {
                self.value_ends(reading);
                self.keep_value(b",");
                self.name_next = self.open & 1 == 1;
            }
            b':' if self.value.is_none() && self.matters() => self.value = Some((Vec::new(), self.depth)),
            other => self.keep_value(&[other]),
        }
    }

    /// Whether the member whose name was just read does.
    fn matters(&self) -> bool {
        match (self.dialect, self.depth, self.name.as_slice()) {
            (_, 1, b"id" | b"model" | b"usage" | b"error") => true,
            (WireDialect::Anthropic, 1, b"stop_reason" | b"diagnostics") => true,
            // In an object of the list of choices.
            (WireDialect::OpenAi, 3, b"finish_reason") => true,
            _ => false,
        }
    }

    fn keep(&mut self, bytes: &[u8], is_name: bool) {
        if is_name {
            let room = (LONGEST_NAME + 1).saturating_sub(self.name.len());
            self.name.extend_from_slice(&bytes[..bytes.len().min(room)]);
        } else {
            self.keep_value(bytes);
        }
    }

    fn keep_value(&mut self, bytes: &[u8]) {
        if let Some((value, _)) = &mut self.value
            && value.len() <= LONGEST
        {
            let room = LONGEST + 1 - value.len();
            value.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// A comma or a bracket ends the value, if it lies as deep as that.
    fn value_ends(&mut self, reading: &mut Reading) {
        let Some((value, _)) = self.value.take_if(|(_, depth)| *depth == self.depth) else { return };
        let name = std::str::from_utf8(&self.name).unwrap_or_default();
        if value.len() <= LONGEST
            && let Ok(value) = serde_json::from_slice::<Value>(&value)
        {
            reading.member(name, &value);
        }
    }
}
