//! Destinations of events. A sink must return at once and queue what takes longer.

use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::carrier::{TARGET, Unpack};
use crate::redact::Redacted;

/// Stores, shows or counts events.
pub trait EventSink: Send + Sync + 'static {
    /// Takes an event. Must not block; it cannot report failures.
    fn take(&self, event: &Redacted);
}

impl<F: Fn(&Redacted) + Send + Sync + 'static> EventSink for F {
    fn take(&self, event: &Redacted) {
        self(event);
    }
}

/// The layer that passes our own events to a sink and ignores library output.
pub struct SinkLayer<K>(K);

impl<K: EventSink> SinkLayer<K> {
    /// A layer for `sink`.
    pub fn new(sink: K) -> Self {
        Self(sink)
    }
}

impl<S: Subscriber, K: EventSink> Layer<S> for SinkLayer<K> {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if event.metadata().target() != TARGET {
            return;
        }
        let mut unpack = Unpack::default();
        event.record(&mut unpack);
        if let Some(event) = unpack.0 {
            self.0.take(&event);
        }
    }
}
