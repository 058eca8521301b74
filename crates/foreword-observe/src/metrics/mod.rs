//! Metrics: turns, model calls, tokens, costs, tools and messages. [`Metrics`] consumes events and renders the
//! Prometheus text format. It contains no users, conversations or message texts.
//!
//! The format is Prometheus text 0.0.4, not OpenMetrics, because node_exporter's textfile collector reads only the
//! former. Libraries write OpenMetrics, where the names of counters differ; so the format is implemented here.

mod counters;
mod exposition;
mod file;
mod histogram;
mod labels;
pub mod text;

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::carrier::TARGET;
use crate::redact::Redacted;
use crate::sink::{EventSink, SinkLayer};
use crate::turn_fields::TURN_SPAN;

use counters::Counters;
pub use file::{MetricsFile, spawn_metrics_file};

/// The content type of the text over HTTP.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics. Clones share the counters.
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
    tallies: Mutex<Counters>,
    running_turns: AtomicI64,
    gauges: OnceLock<Box<dyn Fn() -> Gauges + Send + Sync>>,
}

/// Values read from other components at each rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauges {
    /// Events waiting to be stored.
    pub event_queue_depth: u64,
    /// Dropped events.
    pub events_dropped: u64,
    /// Dropped log lines.
    pub log_lines_dropped: u64,
    /// Dropped spans.
    pub spans_dropped: u64,
    /// Whether the database fails.
    pub store_down: bool,
    /// Failed database operations, by fault.
    pub store_errors: StoreErrors,
}

/// Database failures by fault; entries with an empty name are not shown.
pub type StoreErrors = [(&'static str, u64); 8];

impl Metrics {
    /// All counters at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function that reads the gauges. Only the first call has an effect.
    pub fn set_gauges(&self, ask: impl Fn() -> Gauges + Send + Sync + 'static) {
        let _ = self.0.gauges.set(Box::new(ask));
    }

    /// The layer that counts events and running turns.
    #[must_use]
    pub fn layer(&self) -> MetricsLayer {
        MetricsLayer { metrics: self.clone(), events: SinkLayer::new(self.clone()) }
    }

    /// All metrics in the Prometheus text format.
    #[must_use]
    pub fn render(&self) -> String {
        // Render from a copy, outside the lock.
        let tallies = self.0.tallies.lock().clone();
        let gauges = self.0.gauges.get().map(|ask| ask()).unwrap_or_default();
        let running = self.0.running_turns.load(Ordering::Relaxed);
        exposition::render(&tallies, gauges, running)
    }
}

impl EventSink for Metrics {
    fn take(&self, event: &Redacted) {
        self.0.tallies.lock().take(event.event());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Feeds [`Metrics`]. Running turns are counted by their spans, which are closed however a turn ends.
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
