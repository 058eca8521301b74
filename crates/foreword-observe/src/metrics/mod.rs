//! What happens, counted: turns, calls of models, tokens, money, tools, messages. [`Metrics`] is fed with events and gives
//! the text that Prometheus reads. It counts and times; it never holds who spoke, in which conversation, or what was said.
//!
//! The text is version 0.0.4 of Prometheus's format and not OpenMetrics, because node_exporter's textfile collector reads
//! only the former. That is also why it is written here: libraries write the latter, in which a counter's type stands
//! under another name than its samples.

mod file;
mod histogram;
mod labels;
mod pages;
mod tallies;
pub mod text;

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::carrier::TARGET;
use crate::names::TURN_SPAN;
use crate::redact::Redacted;
use crate::sink::{EventSink, SinkLayer};

pub use file::{KeptFile, keep_file};
use tallies::Tallies;

/// What the text is, for whoever asks for it over HTTP.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Counts what happens. Clones count together.
///
/// ```
/// use foreword_core::event::{Event, EventType};
/// use foreword_observe::metrics::Metrics;
/// use foreword_observe::redact::{RedactionRules, Redactor};
/// use foreword_observe::sink::EventSink as _;
///
/// let metrics = Metrics::new();
/// let redactor = Redactor::new(&RedactionRules::default(), [0; 16]).unwrap();
/// let at = "2026-11-16T08:00:00Z".parse().unwrap();
/// metrics.take(&redactor.event(Event::new(EventType::ScheduleFired, at)));
/// assert!(metrics.render().contains("\nforeword_schedules_fired_total 1\n"));
/// ```
#[derive(Clone, Default)]
pub struct Metrics(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tallies: Mutex<Tallies>,
    running_turns: AtomicI64,
    gauges: OnceLock<Box<dyn Fn() -> Gauges + Send + Sync>>,
}

/// What others know best, asked whenever the text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauges {
    /// Events that wait to be stored.
    pub event_queue_depth: u64,
    /// Events that could not be kept.
    pub events_dropped: u64,
    /// Log lines that could not be written.
    pub log_lines_dropped: u64,
    /// Spans that could not be exported.
    pub spans_dropped: u64,
    /// Whether the database fails.
    pub store_down: bool,
    /// Operations that failed because of the database, by fault.
    pub store_errors: StoreErrors,
}

/// How often the database has failed, by the name of the fault; places without a name are not shown.
pub type StoreErrors = [(&'static str, u64); 8];

impl Metrics {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has `ask` asked whenever the text is wanted. Whoever says it first is heard.
    pub fn ask_for_gauges(&self, ask: impl Fn() -> Gauges + Send + Sync + 'static) {
        let _ = self.0.gauges.set(Box::new(ask));
    }

    /// The layer that feeds it: with our events, and with the turns that run.
    #[must_use]
    pub fn layer(&self) -> MetricsLayer {
        MetricsLayer { metrics: self.clone(), events: SinkLayer::new(self.clone()) }
    }

    /// Everything, as Prometheus reads it.
    #[must_use]
    pub fn render(&self) -> String {
        // A copy, so that nothing waits while the text is written.
        let tallies = self.0.tallies.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let gauges = self.0.gauges.get().map(|ask| ask()).unwrap_or_default();
        let running = self.0.running_turns.load(Ordering::Relaxed);
        pages::render(&tallies, gauges, running)
    }
}

impl EventSink for Metrics {
    fn take(&self, event: &Redacted) {
        self.0.tallies.lock().unwrap_or_else(PoisonError::into_inner).take(event.event());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Feeds [`Metrics`]. How many turns run is read off their spans: those end however a turn ends.
pub struct MetricsLayer {
    metrics: Metrics,
    events: SinkLayer<Metrics>,
}

fn is_turn(metadata: &Metadata<'_>) -> bool {
    metadata.target() == TARGET && metadata.name() == TURN_SPAN
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for MetricsLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        if is_turn(attributes.metadata()) {
            self.metrics.0.running_turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if context.metadata(&id).is_some_and(is_turn) {
            self.metrics.0.running_turns.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        self.events.on_event(event, context);
    }
}
