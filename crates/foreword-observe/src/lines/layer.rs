//! The layer that formats log lines from our events and from library output.

use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use serde_json::{Map, Value};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::entry::{line_of, line_of_payload, shown_time};
use super::level::{Levels, level_of};
use super::library::line_of_library;
use super::object::line;
use crate::carrier::{PAYLOAD_TARGET, TARGET, Unpack};
use crate::human::Human;
use crate::redact::Redactor;

/// Receives log lines. Must not block; it cannot report failures.
pub trait LineSink: Send + Sync + 'static {
    /// Takes a line, with its line end.
    fn take(&self, line: String);
}

impl<F: Fn(String) + Send + Sync + 'static> LineSink for F {
    fn take(&self, line: String) {
        self(line);
    }
}

/// The format of lines.
#[derive(Debug, Clone)]
pub enum LineForm {
    /// JSON.
    Json,
    /// Human-readable.
    Human(Human),
}

impl LineForm {
    /// The line that reports `lost` dropped lines, with its line end.
    #[must_use]
    pub fn lost(&self, lost: u64, at: Timestamp) -> String {
        let error = format!("{lost} lines were lost: there was no room, or they could not be written");
        let fields = [
            ("ts", shown_time(at)),
            ("level", Value::from("warn")),
            ("module", Value::from("log")),
            ("event", Value::from("lines_lost")),
            ("error", Value::from(error)),
        ];
        let line = line(&fields, &Map::from_iter([("lost".to_owned(), Value::from(lost))]));
        match self {
            Self::Json => line,
            Self::Human(human) => human.library(&line),
        }
    }
}

/// The layer for a [`LineSink`].
pub struct LineLayer<K> {
    sink: K,
    form: LineForm,
    levels: Levels,
    redactor: Redactor,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl<K: LineSink> LineLayer<K> {
    /// A layer that writes what `levels` admits. Library output has no timestamp, so it gets the time of `clock`.
    pub fn new(
        sink: K,
        form: LineForm,
        levels: Levels,
        redactor: Redactor,
        clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> Self {
        Self { sink, form, levels, redactor, clock }
    }
}

impl<S, K> Layer<S> for LineLayer<K>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    K: LineSink,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let is_payload = event.metadata().target() == PAYLOAD_TARGET;
        if event.metadata().target() != TARGET && !is_payload {
            let level = level_of(*event.metadata().level());
            let is_trace = *event.metadata().level() == tracing::Level::TRACE;
            if !is_trace && self.levels.takes_of_libraries(level) {
                let line = line_of_library(event, &context, &self.redactor, (self.clock)());
                self.sink.take(match &self.form {
                    LineForm::Json => line,
                    LineForm::Human(human) => human.library(&line),
                });
            }
            return;
        }
        let mut unpack = Unpack::default();
        event.record(&mut unpack);
        let Some(event) = unpack.0.filter(|event| self.levels.takes(event.event().level)) else { return };
        self.sink.take(match &self.form {
            LineForm::Json if is_payload => line_of_payload(&event),
            LineForm::Json => line_of(&event),
            LineForm::Human(human) => human.event(&event),
        });
    }
}
