//! Replaces zero bytes in text from outside, which Postgres cannot store.

use std::borrow::Cow;

use serde_json::Value;

/// Replaces every zero byte with the replacement character.
///
/// ```
/// use foreword_core::zero_byte::without_zero_bytes;
/// assert_eq!(without_zero_bytes("a\0b"), "a\u{FFFD}b");
/// ```
#[must_use]
pub fn without_zero_bytes(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{FFFD}")) } else { Cow::Borrowed(text) }
}

/// Does the same for all strings and keys of a JSON value. A text column can hold the escape `\u0000`, but Postgres
/// cannot read it as JSON.
#[must_use]
pub fn json_without_zero_bytes(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cleaned(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(json_without_zero_bytes).collect()),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(key, value)| (cleaned(key), json_without_zero_bytes(value))).collect(),
        ),
        other => other,
    }
}

fn cleaned(text: String) -> String {
    match without_zero_bytes(&text) {
        Cow::Owned(clean) => clean,
        Cow::Borrowed(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn zero_bytes_are_replaced_in_keys_and_nested_texts() {
        let dirty = json!({"a\0": ["\0", 1, {"b": "x\0y"}], "literal": "\\u0000"});
        let clean = json!({"a\u{FFFD}": ["\u{FFFD}", 1, {"b": "x\u{FFFD}y"}], "literal": "\\u0000"});
        assert_eq!(json_without_zero_bytes(dirty), clean);
    }
}
