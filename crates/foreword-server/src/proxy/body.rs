//! Locates the parts of a proxied request body that its route needs: model, system prompt, tools, messages. All other
//! bytes stay untouched.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::{self, ScanError};

/// A request body with the byte ranges of its parts.
#[derive(Debug, Clone)]
pub(crate) struct RequestBody<'a> {
    bytes: &'a [u8],
    object: Range<usize>,
    model: Option<Range<usize>>,
    system: Option<Range<usize>>,
    tools: Option<Range<usize>>,
    messages: Option<Range<usize>>,
    each: Messages,
    settings: [Option<Range<usize>>; SETTINGS.len()],
    repeated: Option<&'static str>,
}

/// The byte range of each message.
#[derive(Debug, Clone, Default)]
struct Messages {
    at: Vec<Range<usize>>,
    /// Whether the array is valid JSON to its end.
    are_all: bool,
}

impl Messages {
    /// Finds the messages in the array at `start`, and its end, in one pass.
    fn read(&mut self, bytes: &[u8], start: usize) -> Result<usize, ScanError> {
        self.at.clear();
        let mut items = scan::items(bytes, &(start..bytes.len()));
        self.at.extend((&mut items).map_while(Result::ok));
        self.are_all = items.is_whole();
        if self.are_all { Ok(items.end()) } else { scan::end_of_value(bytes, start) }
    }
}

/// Further fields that are part of the provider's cache key.
const SETTINGS: [&str; 4] = ["tool_choice", "thinking", "response_format", "cache_control"];

impl<'a> RequestBody<'a> {
    /// Locates the parts of a body. Of duplicate fields the last counts, as in most JSON parsers.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, ScanError> {
        let start = scan::skip_whitespace(bytes, 0);
        if bytes.get(start) != Some(&b'{') {
            return Err(ScanError::NotAnObject);
        }
        let mut body = Self {
            bytes,
            object: start..bytes.len(),
            model: None,
            system: None,
            tools: None,
            messages: None,
            each: Messages::default(),
            settings: [const { None }; SETTINGS.len()],
            repeated: None,
        };
        let mut members = scan::members(bytes, &body.object);
        let end = |each: &mut Messages, bytes: &'a [u8], name: &str, start| match name {
            "messages" => each.read(bytes, start),
            _ => scan::end_of_value(bytes, start),
        };
        while let Some(member) =
            members.next_with(|bytes, name, start| end(&mut body.each, bytes, name, start))
        {
            let member = member?;
            let (place, name) = match &*member.key {
                "model" => (&mut body.model, "model"),
                "system" => (&mut body.system, "system"),
                "tools" => (&mut body.tools, "tools"),
                "messages" => (&mut body.messages, "messages"),
                other => {
                    if let Some(setting) = SETTINGS.iter().position(|name| *name == other) {
                        body.settings[setting] = Some(member.value);
                    }
                    continue;
                }
            };
            if place.replace(member.value).is_some() {
                body.repeated = Some(name);
            }
        }
        body.object.end = members.end();
        match scan::skip_whitespace(bytes, body.object.end) {
            end if end == bytes.len() => Ok(body),
            behind => Err(ScanError::InvalidJson(behind)),
        }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes at `range`.
    pub(crate) fn at(&self, range: &Range<usize>) -> &'a [u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// The range of the object, braces included.
    pub(crate) fn object(&self) -> Range<usize> {
        self.object.clone()
    }

    pub(crate) fn model(&self) -> Option<Cow<'a, str>> {
        scan::text(self.at(self.model.as_ref()?))
    }

    /// The range of the field `system`.
    pub(crate) fn system(&self) -> Option<Range<usize>> {
        self.system.clone()
    }

    /// The range of the field `tools`.
    pub(crate) fn tools(&self) -> Option<Range<usize>> {
        self.tools.clone()
    }

    /// The range of the field `messages`.
    pub(crate) fn messages_list(&self) -> Option<Range<usize>> {
        self.messages.clone()
    }

    /// The range of each message; empty if `messages` is not an array.
    pub(crate) fn messages(&self) -> &[Range<usize>] {
        &self.each.at
    }

    /// The range of each message, if `messages` is a valid array.
    pub(crate) fn all_messages(&self) -> Option<&[Range<usize>]> {
        self.each.are_all.then_some(&self.each.at)
    }

    /// The value of a field that is part of the cache key.
    pub(crate) fn setting(&self, name: &str) -> Option<&'a [u8]> {
        let at = SETTINGS.iter().position(|known| *known == name)?;
        self.settings[at].as_ref().map(|at| self.at(at))
    }

    /// The name of a duplicate field: parsers disagree on which one counts.
    pub(crate) fn repeated(&self) -> Option<&'static str> {
        self.repeated
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn request_parts_are_found() {
        let text = r#" {"model":"claude-x","max_tokens":5,"system":[{"type":"text","text":"a \"b\" ]"}],
            "messages":[{"role":"user","content":"hi"}, {"role":"assistant","content":[]}],"stream":true} "#;
        let body = RequestBody::read(text.as_bytes()).unwrap();
        assert_eq!(body.model().as_deref(), Some("claude-x"));
        assert_eq!(body.at(&body.system().unwrap()), br#"[{"type":"text","text":"a \"b\" ]"}]"#);
        let messages: Vec<_> = body.messages().iter().map(|at| body.at(at)).collect();
        assert_eq!(
            messages,
            [&br#"{"role":"user","content":"hi"}"#[..], br#"{"role":"assistant","content":[]}"#]
        );
        assert_eq!((body.tools(), body.repeated()), (None, None));
        assert_eq!(body.at(&body.object()), text.trim().as_bytes());
    }

    #[test]
    fn duplicate_keys_are_detected_with_escapes() {
        let body = RequestBody::read(br#"{"system":"a","s\u0079stem":"b"}"#).unwrap();
        assert_eq!(body.repeated(), Some("system"));
        assert_eq!(body.at(&body.system().unwrap()), br#""b""#);
    }

    #[test]
    fn malformed_requests_have_no_parts() {
        for (text, expected) in [
            ("", ScanError::NotAnObject),
            ("[1]", ScanError::NotAnObject),
            ("\u{feff}{}", ScanError::NotAnObject),
            ("{} x", ScanError::InvalidJson(3)),
            ("{}{}", ScanError::InvalidJson(2)),
            (r#"{"messages":[1,2"#, ScanError::InvalidJson(16)),
        ] {
            assert_eq!(RequestBody::read(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
        // An invalid array is forwarded as it is; no prompt can be injected.
        let broken = RequestBody::read(br#"{"messages":[{},{} {}],"model":"m"}"#).unwrap();
        assert_eq!((broken.model().as_deref(), broken.messages().len()), (Some("m"), 2));
        assert_eq!(broken.all_messages(), None);
        let twice = RequestBody::read(br#"{"messages":[1,2],"messages":"none"}"#).unwrap();
        assert_eq!((twice.messages().len(), twice.all_messages()), (0, None));
        let odd = RequestBody::read(br#"{"model":5,"stream":"true","messages":"none"}"#).unwrap();
        assert_eq!((odd.model(), odd.messages().len()), (None, 0));
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC*".prop_map(Value::from),
            "[\"\\\\{}\\[\\]:,\n\u{1}é]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"\\\\{}]{0,6}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn members_are_where_a_full_reader_finds_them(
            object in prop::collection::btree_map(
                prop_oneof!["messages", "system", "tools", "model", "[a-z\"\\\\]{0,6}"], json(), 0..6),
            pretty in any::<bool>(),
        ) {
            let object = Value::Object(object.into_iter().collect());
            let text = if pretty { format!("{object:#}") } else { object.to_string() };
            let whole: BTreeMap<String, &RawValue> = serde_json::from_str(&text).unwrap();
            let body = RequestBody::read(text.as_bytes()).unwrap();
            let found: BTreeMap<String, &[u8]> =
                scan::members(body.bytes(), &body.object()).map(|member| member.unwrap()).map(|m| (m.key.into_owned(), body.at(&m.value))).collect();
            let expected: BTreeMap<String, &[u8]> =
                whole.iter().map(|(key, value)| (key.clone(), value.get().as_bytes())).collect();
            prop_assert_eq!(found, expected);
            if let Some(Ok(items)) = whole.get("messages").map(|list| serde_json::from_str::<Vec<&RawValue>>(list.get())) {
                let found: Vec<&[u8]> = body.messages().iter().map(|at| body.at(at)).collect();
                let expected: Vec<&[u8]> = items.iter().map(|item| item.get().as_bytes()).collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn reading_arbitrary_bytes_never_panics(bytes in prop::collection::vec(
            prop_oneof![Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b':'), Just(b','), any::<u8>()],
            0..80,
        )) {
            if let Ok(body) = RequestBody::read(&bytes) {
                let _ = (body.model(), body.messages());
            }
            let object = [b"{\"messages\":", &bytes[..], b"}"].concat();
            if let Ok(body) = RequestBody::read(&object) {
                let _ = (body.messages(), body.all_messages());
            }
        }
    }
}
