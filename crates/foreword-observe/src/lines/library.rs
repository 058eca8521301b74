//! What libraries say through `tracing`, as lines of the log: under the names of the turn it was said in, and redacted as
//! everything else.

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
use crate::carrier::TARGET;
use crate::redact::Redactor;

/// What the span of a turn is called.
pub(super) const TURN: &str = "turn";

/// The names of a turn, kept with its span, without secrets.
pub(super) struct Named(Vec<(&'static str, Value)>);

impl Named {
    pub(super) fn of(said: Said, redactor: &Redactor) -> Self {
        let names = [
            ("session", "sessionId"),
            ("user", "userId"),
            ("channel", "channel"),
            ("turn", "turnId"),
            ("trace", "traceId"),
            ("span", "spanId"),
        ];
        let mut fields = Value::Object(said.0);
        redactor.value(&mut fields);
        let known = |(field, name): (&str, &'static str)| Some((name, fields.get(field)?.clone()));
        Self(names.into_iter().filter_map(known).collect())
    }
}

/// What a library has said as a line, its end included.
pub(super) fn line_of_library<S>(
    event: &Event<'_>,
    context: &Context<'_, S>,
    redactor: &Redactor,
    at: Timestamp,
) -> String
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    let mut said = Said::default();
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
    let spans = context.event_scope(event).into_iter().flatten();
    let mut turns = spans.filter(|span| span.metadata().target() == TARGET && span.name() == TURN);
    if let Some(turn) = turns.next()
        && let Some(Named(names)) = turn.extensions().get()
    {
        fields.extend(names.iter().cloned());
    }
    match own {
        Value::Object(own) => line(&fields, &own),
        _ => line(&fields, &Map::new()),
    }
}

/// The fields of something that was said.
#[derive(Debug, Default)]
pub(super) struct Said(Map<String, Value>);

impl Visit for Said {
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
