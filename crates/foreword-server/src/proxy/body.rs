//! The body of a request that passes, taken apart as far as its route needs it: where its system prompt, its tools and its
//! messages are, which model it is for. Everything else stays bytes.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::{self, NotRead};

/// The body of a request, and where its parts are.
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

/// Where each of the messages is.
#[derive(Debug, Clone, Default)]
struct Messages {
    at: Vec<Range<usize>>,
    /// Whether these are all: what is behind them may be no JSON.
    are_all: bool,
}

impl Messages {
    /// Finds them in the list that begins at `start`, in the same look that finds the end of it.
    fn read(&mut self, bytes: &[u8], start: usize) -> Result<usize, NotRead> {
        self.at.clear();
        let mut items = scan::items(bytes, &(start..bytes.len()));
        self.at.extend((&mut items).map_while(Result::ok));
        self.are_all = items.is_whole();
        if self.are_all { Ok(items.end()) } else { scan::end_of_value(bytes, start) }
    }
}

/// What else is part of what a provider caches.
const SETTINGS: [&str; 4] = ["tool_choice", "thinking", "response_format", "cache_control"];

impl<'a> RequestBody<'a> {
    /// Finds the parts of a body. Where one is said twice the last counts, as nearly every reader has it.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, NotRead> {
        let start = scan::after_space(bytes, 0);
        if bytes.get(start) != Some(&b'{') {
            return Err(NotRead::NoObject);
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
        match scan::after_space(bytes, body.object.end) {
            end if end == bytes.len() => Ok(body),
            behind => Err(NotRead::Broken(behind)),
        }
    }

    /// All its bytes.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What is at `range`.
    pub(crate) fn at(&self, range: &Range<usize>) -> &'a [u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Where its object is: from the opening bracket to behind the closing one.
    pub(crate) fn object(&self) -> Range<usize> {
        self.object.clone()
    }

    /// The model it names.
    pub(crate) fn model(&self) -> Option<Cow<'a, str>> {
        scan::text(self.at(self.model.as_ref()?))
    }

    /// Where its system prompt is, if it has one beside its messages.
    pub(crate) fn system(&self) -> Option<Range<usize>> {
        self.system.clone()
    }

    /// Where its tools are.
    pub(crate) fn tools(&self) -> Option<Range<usize>> {
        self.tools.clone()
    }

    /// Where its list of messages is.
    pub(crate) fn messages_list(&self) -> Option<Range<usize>> {
        self.messages.clone()
    }

    /// Where each of its messages is; none if they are no list.
    pub(crate) fn messages(&self) -> &[Range<usize>] {
        &self.each.at
    }

    /// The same, if they are a list that can be read to its end.
    pub(crate) fn all_messages(&self) -> Option<&[Range<usize>]> {
        self.each.are_all.then_some(&self.each.at)
    }

    /// A setting that is part of what is cached, if it has it.
    pub(crate) fn setting(&self, name: &str) -> Option<&'a [u8]> {
        let at = SETTINGS.iter().position(|known| *known == name)?;
        self.settings[at].as_ref().map(|at| self.at(at))
    }

    /// Which of the parts it says twice, if it does: nobody can tell which one would count.
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
    fn the_parts_of_a_request_are_found() {
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
    fn what_is_said_twice_is_told_even_in_disguise() {
        let body = RequestBody::read(br#"{"system":"a","s\u0079stem":"b"}"#).unwrap();
        assert_eq!(body.repeated(), Some("system"));
        assert_eq!(body.at(&body.system().unwrap()), br#""b""#);
    }

    #[test]
    fn what_is_no_request_has_no_parts() {
        for (text, expected) in [
            ("", NotRead::NoObject),
            ("[1]", NotRead::NoObject),
            ("\u{feff}{}", NotRead::NoObject),
            ("{} x", NotRead::Broken(3)),
            ("{}{}", NotRead::Broken(2)),
            (r#"{"messages":[1,2"#, NotRead::Broken(16)),
        ] {
            assert_eq!(RequestBody::read(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
        // What is no list to its end is passed on as it is; nothing can be put into it.
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
        fn no_bytes_bring_it_down(bytes in prop::collection::vec(
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
