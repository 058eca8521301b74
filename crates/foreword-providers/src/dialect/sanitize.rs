//! Rewrites model output that a provider would reject when it is sent back in the history. Deterministic, so that one
//! malformed call does not break the conversation or its cached prefix.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// The maximum length of a tool name that every provider accepts.
const MAX_NAME: usize = 64;

/// Parses the arguments of a call as the model wrote them. Anything but a JSON object is kept as a string.
pub(super) fn arguments(written: &str) -> Value {
    match serde_json::from_str(written) {
        Ok(Value::Object(fields)) => Value::Object(fields),
        Ok(Value::Null) => Value::Object(Map::new()),
        Err(_) if written.trim().is_empty() => Value::Object(Map::new()),
        _ => Value::String(written.to_owned()),
    }
}

/// The input of a call as an object, which every provider requires.
pub(super) fn as_object(input: &Value) -> Cow<'_, Value> {
    match input {
        Value::Object(_) => Cow::Borrowed(input),
        Value::Null => Cow::Owned(json!({})),
        other => Cow::Owned(json!({ "unreadable_arguments": other })),
    }
}

/// A tool name without characters that providers reject.
pub(super) fn tool_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    if name.len() <= MAX_NAME && name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(
        name.chars()
            .take(MAX_NAME)
            .map(|c| if u8::try_from(c).is_ok_and(is_plain) { c } else { '_' })
            .collect(),
    )
}

/// A call id without characters that Anthropic rejects. Distinct ids stay distinct.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    if id.bytes().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let plain = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("_{byte:02x}") };
    Cow::Owned(id.bytes().map(plain).collect())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_are_accepted_as_arguments() {
        for (written, expected) in [
            (r#"{"a":1}"#, json!({ "a": 1 })),
            ("", json!({})),
            (" \n", json!({})),
            ("null", json!({})),
            (r#"{"a":"#, json!(r#"{"a":"#)),
            ("[1]", json!("[1]")),
            (r#""words""#, json!(r#""words""#)),
        ] {
            assert_eq!(arguments(written), expected, "{written}");
            assert!(as_object(&arguments(written)).is_object());
        }
    }

    #[test]
    fn invalid_names_are_rewritten_and_valid_names_unchanged() {
        assert_eq!(tool_name("memory_search"), "memory_search");
        assert_eq!(tool_name("memory search!"), "memory_search_");
        assert_eq!(tool_name("süß"), "s__");
        assert_eq!(tool_name(""), "unnamed");
        assert_eq!(tool_name(&"x".repeat(70)).len(), 64);
        assert_eq!(call_id("toolu_01-a"), "toolu_01-a");
        assert_eq!(call_id("functions.bash:0"), "functions_2ebash_3a0");
        assert_ne!(call_id("a.b"), call_id("a:b"));
    }
}
