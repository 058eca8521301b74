//! Computes the length of a value's JSON form without allocating it.

use std::io;

use serde::Serialize;

/// The length of `value` as JSON, in bytes.
pub(super) fn json_length(value: &impl Serialize) -> usize {
    let mut counted = Counted(0);
    // The counting writer cannot fail, and a value without a JSON form is not sent.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_length_equals_the_serialized_length() {
        for value in [serde_json::json!({ "a": [1.5, "é\n\"", null] }), serde_json::json!("")] {
            assert_eq!(json_length(&value), value.to_string().len());
        }
    }
}
