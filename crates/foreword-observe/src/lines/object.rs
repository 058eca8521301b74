//! Writes a JSON object on one line, with its fields in the given order. Long values are truncated until the line fits
//! the limit.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The maximum length of a line, with its line end.
pub(super) const MAX_LINE_LEN: usize = 64 * 1024;
/// The maximum length of a line with a payload.
pub(super) const MAX_PAYLOAD_LEN: usize = 1024 * 1024;
/// The limits for strings when a line is too long, tried in order until it fits.
const CAPS: [usize; 5] = [16 * 1024, 4 * 1024, 1024, 256, 64];
/// The maximum depth of truncated values.
const MAX_DEPTH: usize = 16;

/// The line of these fields, with its line end. Always a JSON object of at most [`MAX_LINE_LEN`] bytes.
pub(super) fn line(fields: &[(&str, Value)], own: &Map<String, Value>) -> String {
    line_up_to(fields, own, MAX_LINE_LEN)
}

/// The same with at most `longest` bytes; `longest` must be at least [`MAX_LINE_LEN`].
pub(super) fn line_up_to(fields: &[(&str, Value)], own: &Map<String, Value>, longest: usize) -> String {
    let whole = written(fields, own, None);
    if whole.len() <= longest {
        return whole;
    }
    let cut = CAPS.iter().map(|cap| written(fields, own, Some(*cap))).find(|line| line.len() <= longest);
    // Too many fields: write only the common ones.
    cut.unwrap_or_else(|| written(fields, &Map::new(), CAPS.last().copied()))
}

fn written(fields: &[(&str, Value)], own: &Map<String, Value>, cap: Option<usize>) -> String {
    let mut out = Object::new(cap);
    let mut taken = BTreeSet::new();
    for (name, value) in fields {
        taken.insert(*name);
        out.field(name, value);
    }
    for (name, value) in own.iter().filter(|(_, value)| !value.is_null()) {
        let same = || fields.iter().any(|(field, known)| field == name && known == value);
        if !taken.contains(name.as_str()) && !is_reserved(name) {
            out.field(name, value);
        } else if !same() {
            out.field(&format!("metadata.{name}"), value);
        }
    }
    if cap.is_some() {
        out.field("truncated", &Value::Bool(true));
    }
    out.finish()
}

/// The field names common to all lines.
const RESERVED: [&str; 23] = [
    "ts",
    "level",
    "module",
    "event",
    "sessionId",
    "userId",
    "agentId",
    "channel",
    "turnId",
    "traceId",
    "spanId",
    "parentSpanId",
    "durationMs",
    "inputTokens",
    "outputTokens",
    "totalTokens",
    "cacheReadTokens",
    "cacheWriteTokens",
    "costUsd",
    "error",
    "promptFingerprint",
    "layerVersions",
    "truncated",
];

/// Whether an own field with this name has to be renamed or omitted.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

struct Object {
    text: String,
    cap: Option<usize>,
}

impl Object {
    fn new(cap: Option<usize>) -> Self {
        Self { text: String::from("{"), cap }
    }

    fn field(&mut self, name: &str, value: &Value) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        let name = Value::from(shortened(name, self.cap));
        self.text.push_str(&name.to_string());
        self.text.push(':');
        match self.cap {
            Some(cap) => self.text.push_str(&cut(value, cap, MAX_DEPTH).to_string()),
            None => self.text.push_str(&value.to_string()),
        }
    }

    fn finish(mut self) -> String {
        self.text.push_str("}\n");
        self.text
    }
}

/// `value` with strings of at most `cap` bytes, and arrays and objects limited accordingly.
fn cut(value: &Value, cap: usize, depth: usize) -> Value {
    let most = cap / 4;
    match value {
        Value::String(text) => Value::from(shortened(text, Some(cap))),
        Value::Array(_) | Value::Object(_) if depth == 0 => Value::from("…"),
        Value::Array(items) => {
            let mut kept: Vec<Value> =
                items.iter().take(most).map(|item| cut(item, cap, depth - 1)).collect();
            if items.len() > most {
                kept.push(Value::from(format!("… {} more", items.len() - most)));
            }
            kept.into()
        }
        Value::Object(map) => {
            let member =
                |(key, value): (&String, &Value)| (shortened(key, Some(cap)), cut(value, cap, depth - 1));
            Value::Object(map.iter().take(most).map(member).collect())
        }
        other => other.clone(),
    }
}

fn shortened(text: &str, cap: Option<usize>) -> String {
    let Some(cap) = cap.filter(|cap| text.len() > *cap) else { return text.to_owned() };
    let end = (0..=cap).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… {} bytes more", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn own(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn duplicate_fields_are_omitted_or_prefixed() {
        let fields = [("error", json!("a")), ("totalTokens", json!(3))];
        let line =
            line(&fields, &own(json!({ "error": "b", "totalTokens": 3, "ts": 1, "none": null, "x": 2 })));
        assert_eq!(
            line,
            "{\"error\":\"a\",\"totalTokens\":3,\"metadata.error\":\"b\",\"metadata.ts\":1,\"x\":2}\n"
        );
    }

    #[test]
    fn long_line_truncates_its_longest_values() {
        let long = "ü".repeat(100_000);
        let line = line(&[("ts", json!("now"))], &own(json!({ "short": "kept", "long": long })));
        let read: Value = serde_json::from_str(&line).unwrap();
        assert!(line.len() <= MAX_LINE_LEN && read["short"] == "kept" && read["truncated"] == true);
        let kept = read["long"].as_str().unwrap();
        assert!(
            kept.starts_with("üüü") && kept.ends_with("… 183616 bytes more"),
            "{}",
            &kept[kept.len() - 40..]
        );
    }

    #[test]
    fn many_fields_still_fit_one_line() {
        let many: Map<String, Value> = (0..100_000).map(|n| (format!("field {n}"), json!(n))).collect();
        let line = line(&[("ts", json!("now"))], &many);
        assert_eq!(line, "{\"ts\":\"now\",\"truncated\":true}\n");
    }

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
            (0..40_000_usize).prop_map(|count| Value::from("\u{1}\n".repeat(count))),
        ];
        leaf.prop_recursive(4, 40, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                proptest::collection::btree_map(".{0,8}", inner, 0..8)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_line_is_one_bounded_json_object(value in anything()) {
            let line = line(&[("ts", json!("now")), ("error", value.clone())], &own(json!({ "value": value })));
            prop_assert!(line.len() <= MAX_LINE_LEN);
            prop_assert_eq!(line.find('\n'), Some(line.len() - 1));
            prop_assert!(serde_json::from_str::<Map<String, Value>>(&line).is_ok());
        }
    }
}
