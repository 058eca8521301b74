//! Where events go. A sink takes what it is given at once: what can wait, it puts into a queue of its own.

use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::carrier::{TARGET, Unpack};
use crate::redact::Redacted;

/// Something that keeps, shows or counts events.
pub trait EventSink: Send + Sync + 'static {
    /// Takes an event. Must not wait, and has nobody to tell if it fails.
    fn take(&self, event: &Redacted);
}

impl<F: Fn(&Redacted) + Send + Sync + 'static> EventSink for F {
    fn take(&self, event: &Redacted) {
        self(event);
    }
}

/// The layer that hands our own events to a sink. What libraries say passes it by.
pub struct SinkLayer<K>(K);

impl<K: EventSink> SinkLayer<K> {
    /// A layer in front of `sink`.
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
