//! A span in OTLP's JSON encoding: ids as hexadecimal, times in nanoseconds and integers as strings, enums as numbers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use foreword_core::event::{SpanId, TraceId};
use foreword_core::timestamp::Timestamp;
use serde_json::{Value, json};

/// The maximum number of events per span.
const MAX_EVENTS: usize = 128;
/// The maximum length of an attribute value or a name.
const MAX_TEXT_CHARS: usize = 200;
/// The status code of a failed span.
const ERROR: u8 = 2;
/// The instrumentation scope of our own spans.
pub(super) const OWN_SCOPE: &str = "foreword";

/// The OpenTelemetry span kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// An attribute value.
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

/// Attributes by name. Collectors reject duplicate names.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Attributes(BTreeMap<Cow<'static, str>, Attribute>);

impl Attributes {
    pub(super) fn add(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Attribute>) {
        self.0.insert(name.into(), value.into());
    }

    /// Adds the attribute if it has a value.
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

/// A span event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpanEvent {
    pub(super) at: Timestamp,
    pub(super) name: String,
    pub(super) attributes: Attributes,
}

/// The ids of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanContext {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
}

/// A span of a trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// The instrumentation scope: ours, or the name of a library.
    pub(super) scope: Cow<'static, str>,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) attributes: Attributes,
    pub(super) events: Vec<SpanEvent>,
    pub(super) events_left_out: u32,
    /// Links to other messages that the turn answers.
    pub(super) links: Vec<SpanContext>,
    pub(super) failed: bool,
}

impl Span {
    /// One of our spans, with start and end at `at`.
    pub(super) fn new(context: SpanContext, name: &str, kind: SpanKind, at: Timestamp) -> Self {
        Self {
            trace: context.trace,
            id: context.span,
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

    /// Adds a span event.
    pub(super) fn add_event(&mut self, event: SpanEvent) {
        self.end = self.end.max(event.at);
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        } else {
            self.events_left_out += 1;
        }
    }

    fn json(&self) -> Value {
        let event = |event: &SpanEvent| json!({ "timeUnixNano": nanoseconds(event.at), "name": event.name, "attributes": event.attributes.json() });
        let link = |link: &SpanContext| json!({ "traceId": link.trace, "spanId": link.span });
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

/// The request body with `spans` of the service.
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
        // Only the name of a library is known.
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

/// Nanoseconds since the Unix epoch. Negative times do not occur.
fn nanoseconds(at: Timestamp) -> String {
    (i128::from(at.as_micros()).max(0) * 1_000).to_string()
}

fn short(text: &str) -> &str {
    text.char_indices().nth(MAX_TEXT_CHARS).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}
