//! How long something is as JSON, without writing it down.

use std::io;

use serde::Serialize;

/// The bytes of `value` as JSON.
pub(super) fn json_length(value: &impl Serialize) -> usize {
    let mut counted = Counted(0);
    // Counting can't fail, and what has no JSON form is not sent either.
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
    fn a_length_is_that_of_the_text() {
        for value in [serde_json::json!({ "a": [1.5, "é\n\"", null] }), serde_json::json!("")] {
            assert_eq!(json_length(&value), value.to_string().len());
        }
    }
}
