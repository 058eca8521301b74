//! Formats `tracing` output of libraries as log lines, with the fields of the current turn, redacted.

use std::error::Error;
use std::fmt;

use foreword_core::timestamp::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::entry::shown_time;
use super::level::level_of;
use super::object::line;
use crate::redact::Redactor;
use crate::turn_fields::TurnFields;

/// The redacted fields of a turn.
fn fields_of(names: &TurnFields, redactor: &Redactor) -> Vec<(&'static str, Value)> {
    let TurnFields { session, turn, agent, user, channel, trace, span, .. } = names;
    let fields = [
        ("sessionId", Some(session.to_string())),
        ("userId", user.as_deref().map(str::to_owned)),
        ("agentId", Some(agent.to_string())),
        ("channel", channel.as_deref().map(str::to_owned)),
        ("turnId", Some(turn.to_string())),
        ("traceId", trace.map(|trace| trace.to_string())),
        ("spanId", span.map(|span| span.to_string())),
    ];
    let shown = |(name, text): (&'static str, Option<String>)| {
        Some((name, Value::from(redactor.text(&text?).into_owned())))
    };
    fields.into_iter().filter_map(shown).collect()
}

/// A library's event as a line, with its line end.
pub(super) fn line_of_library<S>(
    event: &Event<'_>,
    context: &Context<'_, S>,
    redactor: &Redactor,
    at: Timestamp,
) -> String
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    let mut said = FieldCollector::default();
    event.record(&mut said);
    let mut own = Value::Object(said.0);
    redactor.value(&mut own);
    let metadata = event.metadata();
    let mut fields = vec![
        ("ts", shown_time(at)),
        ("level", Value::from(level_of(*metadata.level()).as_str())),
        ("module", Value::from(metadata.target())),
        ("event", Value::from("log")),
    ];
    let mut spans = context.event_scope(event).into_iter().flatten();
    let turn = spans.find_map(|span| span.extensions().get::<TurnFields>().cloned());
    fields.extend(turn.iter().flat_map(|names| fields_of(names, redactor)));
    match own {
        Value::Object(own) => line(&fields, &own),
        _ => line(&fields, &Map::new()),
    }
}

/// Collects the fields of a `tracing` event.
#[derive(Debug, Default)]
struct FieldCollector(Map<String, Value>);

impl Visit for FieldCollector {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), Value::from(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.0.insert(field.name().to_owned(), Value::from(value.to_string()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), Value::from(format!("{value:?}")));
    }
}
