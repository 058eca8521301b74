//! Writes a line of JSON field by field, without intermediate values. Every event becomes a line, so this is on the path
//! of each proxied request.

use serde::Serialize;
use serde_json::Value;

/// The usual length of a line.
const CAPACITY: usize = 768;

/// A line that is being written. A field that can't be serialised makes it unusable.
pub(super) struct DirectLine {
    text: Vec<u8>,
    is_valid: bool,
}

impl DirectLine {
    pub(super) fn new() -> Self {
        let mut text = Vec::with_capacity(CAPACITY);
        text.push(b'{');
        Self { text, is_valid: true }
    }

    /// Adds a field whose name needs no escapes, if it has a value.
    pub(super) fn field<T: Serialize>(&mut self, name: &'static str, value: Option<T>) {
        let Some(value) = value else { return };
        self.separate();
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
        self.write(&value);
    }

    /// Adds a field with any name.
    pub(super) fn own_field(&mut self, name: &str, value: &Value) {
        self.separate();
        self.write(name);
        self.text.push(b':');
        self.write(value);
    }

    /// The line with its line end.
    pub(super) fn finish(mut self) -> Option<String> {
        self.text.extend_from_slice(b"}\n");
        String::from_utf8(self.text).ok().filter(|_| self.is_valid)
    }

    fn separate(&mut self) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
    }

    fn write<T: Serialize + ?Sized>(&mut self, value: &T) {
        self.is_valid &= serde_json::to_writer(&mut self.text, value).is_ok();
    }
}
