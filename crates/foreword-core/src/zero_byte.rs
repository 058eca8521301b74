//! Texts from outside may hold zero bytes, which Postgres can't store. They lose their meaning, not their place.

use std::borrow::Cow;

use serde_json::Value;

/// The text with the replacement character in place of every zero byte.
///
/// ```
/// use foreword_core::zero_byte::without_zero_bytes;
/// assert_eq!(without_zero_bytes("a\0b"), "a\u{FFFD}b");
/// ```
#[must_use]
pub fn without_zero_bytes(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{FFFD}")) } else { Cow::Borrowed(text) }
}

/// The same for every text and every key in a JSON value. There they are written `\u0000`, which a text column can hold;
/// but nothing that reads the column as JSON in Postgres could.
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
    fn zero_bytes_are_replaced_in_keys_and_in_nested_texts() {
        let dirty = json!({"a\0": ["\0", 1, {"b": "x\0y"}], "literal": "\\u0000"});
        let clean = json!({"a\u{FFFD}": ["\u{FFFD}", 1, {"b": "x\u{FFFD}y"}], "literal": "\\u0000"});
        assert_eq!(json_without_zero_bytes(dirty), clean);
    }
}
