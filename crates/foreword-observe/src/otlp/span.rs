//! A span as the OpenTelemetry protocol writes it in JSON: ids in hexadecimal, times in nanoseconds and whole numbers as
//! texts, enumerations as numbers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use foreword_core::event::{SpanId, TraceId};
use foreword_core::timestamp::Timestamp;
use serde_json::{Value, json};

/// The most things that are told of one span.
const MOST_EVENTS: usize = 128;
/// The longest text of an attribute or a name.
const LONGEST: usize = 200;
/// The status of a span that failed.
const ERROR: u8 = 2;
/// Who speaks, where our own spans are concerned.
pub(super) const OWN_SCOPE: &str = "foreword";

/// What stands at which end of the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// What is said of something.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Attribute {
    Text(String),
    Whole(i64),
    Amount(f64),
    Truth(bool),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(short(text).to_owned())
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Self {
        Self::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// What is said of it, by name. A name is there once, or whoever collects refuses it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Attributes(BTreeMap<Cow<'static, str>, Attribute>);

impl Attributes {
    pub(super) fn add(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Attribute>) {
        self.0.insert(name.into(), value.into());
    }

    /// The same if there is something to say.
    pub(super) fn add_some(&mut self, name: &'static str, value: Option<impl Into<Attribute>>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    fn json(&self) -> Value {
        let one = |(name, value): (&Cow<'static, str>, &Attribute)| {
            let value = match value {
                Attribute::Text(text) => json!({ "stringValue": text }),
                Attribute::Whole(number) => json!({ "intValue": number.to_string() }),
                Attribute::Amount(amount) => json!({ "doubleValue": amount }),
                Attribute::Truth(truth) => json!({ "boolValue": truth }),
            };
            json!({ "key": name, "value": value })
        };
        self.0.iter().map(one).collect()
    }
}

/// Something that happened within a span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpanEvent {
    pub(super) at: Timestamp,
    pub(super) name: String,
    pub(super) attributes: Attributes,
}

/// A piece of a trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// Who tells of it: we, or a library by its name.
    pub(super) scope: Cow<'static, str>,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) attributes: Attributes,
    pub(super) events: Vec<SpanEvent>,
    pub(super) events_left_out: u32,
    /// Other messages that it answers.
    pub(super) links: Vec<(TraceId, SpanId)>,
    pub(super) failed: bool,
}

impl Span {
    /// One of our own, which begins and ends at `at` until more is known.
    pub(super) fn new((trace, id): (TraceId, SpanId), name: &str, kind: SpanKind, at: Timestamp) -> Self {
        Self {
            trace,
            id,
            parent: None,
            name: short(name).to_owned(),
            kind,
            scope: OWN_SCOPE.into(),
            start: at,
            end: at,
            attributes: Attributes::default(),
            events: Vec::new(),
            events_left_out: 0,
            links: Vec::new(),
            failed: false,
        }
    }

    /// Tells of something within it.
    pub(super) fn tell(&mut self, event: SpanEvent) {
        self.end = self.end.max(event.at);
        if self.events.len() < MOST_EVENTS {
            self.events.push(event);
        } else {
            self.events_left_out += 1;
        }
    }

    fn json(&self) -> Value {
        let event = |event: &SpanEvent| json!({ "timeUnixNano": nanoseconds(event.at), "name": event.name, "attributes": event.attributes.json() });
        let link = |(trace, span): &(TraceId, SpanId)| json!({ "traceId": trace, "spanId": span });
        let mut out = json!({
            "traceId": self.trace,
            "spanId": self.id,
            "name": self.name,
            "kind": self.kind as u8,
            "startTimeUnixNano": nanoseconds(self.start),
            "endTimeUnixNano": nanoseconds(self.end.max(self.start)),
            "attributes": self.attributes.json(),
        });
        if let Some(parent) = self.parent {
            out["parentSpanId"] = json!(parent);
        }
        if !self.events.is_empty() {
            out["events"] = self.events.iter().map(event).collect();
        }
        if self.events_left_out > 0 {
            out["droppedEventsCount"] = json!(self.events_left_out);
        }
        if !self.links.is_empty() {
            out["links"] = self.links.iter().map(link).collect();
        }
        if self.failed {
            out["status"] = json!({ "code": ERROR });
        }
        out
    }
}

/// The body of a request that tells of `spans`, which come from the service of that name.
pub(super) fn body(service: &str, spans: &[Span]) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let mut resource = Attributes::default();
    resource.add("service.name", service);
    resource.add("service.version", version);
    let mut scopes: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for span in spans {
        scopes.entry(&span.scope).or_default().push(span.json());
    }
    let scope = |(name, spans): (&str, Vec<Value>)| {
        // Of a library only the name is known.
        let scope = if name == OWN_SCOPE {
            json!({ "name": name, "version": version })
        } else {
            json!({ "name": name })
        };
        json!({ "scope": scope, "spans": spans })
    };
    let scopes: Vec<Value> = scopes.into_iter().map(scope).collect();
    json!({ "resourceSpans": [{ "resource": { "attributes": resource.json() }, "scopeSpans": scopes }] })
        .to_string()
        .into_bytes()
}

/// Nanoseconds since 1970. Nothing of ours is older.
fn nanoseconds(at: Timestamp) -> String {
    (i128::from(at.as_micros()).max(0) * 1_000).to_string()
}

fn short(text: &str) -> &str {
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}
