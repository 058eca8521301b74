//! The entry point: redacts an event and emits it through `tracing`.

use std::fmt;
use std::future::Future;

use foreword_core::event::{Event, Level};
use tracing::Dispatch;
use tracing::dispatcher::{set_global_default, with_default};
use tracing::instrument::{Instrument as _, WithSubscriber as _};
use tracing_subscriber::layer::{Layered, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

use crate::carrier::{Carrier, PAYLOAD_TARGET, TARGET};
use crate::lines::Levels;
use crate::redact::Redactor;
use crate::sink::{EventSink, SinkLayer};
use crate::turn_fields::{TurnFields, TurnFieldsLayer};

/// Records events. Clones share one dispatcher.
#[derive(Clone)]
pub struct Recorder {
    redactor: Redactor,
    dispatch: Dispatch,
}

impl Recorder {
    /// A recorder for `dispatch`, whose subscriber must be [`base`] with layers.
    #[must_use]
    pub fn new(redactor: Redactor, dispatch: Dispatch) -> Self {
        Self { redactor, dispatch }
    }

    /// A recorder with a single sink. Library output is discarded.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use foreword_core::event::{Event, EventType};
    /// use foreword_observe::recorder::Recorder;
    /// use foreword_observe::redact::{Redacted, RedactionRules, Redactor};
    ///
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let sink = Arc::clone(&seen);
    /// let redactor = Redactor::new(&RedactionRules::default(), [0; 16]).unwrap();
    /// let recorder = Recorder::to_sink(redactor, move |event: &Redacted| sink.lock().unwrap().push(event.clone()));
    /// recorder.record(Event::new(EventType::TurnStarted, "2026-11-16T08:00:00Z".parse().unwrap()));
    /// assert_eq!(seen.lock().unwrap()[0].event().event_type, EventType::TurnStarted);
    /// ```
    #[must_use]
    pub fn to_sink(redactor: Redactor, sink: impl EventSink) -> Self {
        Self::new(redactor, Dispatch::new(base().with(SinkLayer::new(sink))))
    }

    /// A recorder with the layers `ways`; `levels` filters library output.
    #[must_use]
    pub fn to_all(redactor: Redactor, ways: Vec<EventLayer>, levels: Levels) -> Self {
        // The levels are outermost, so that they can disable library output for all layers.
        Self::new(redactor, Dispatch::new(base().with(ways).with(levels)))
    }

    /// Installs the global `tracing` dispatcher to receive library output, unless one is set.
    pub fn listen_everywhere(&self) {
        let _ = set_global_default(self.dispatch.clone());
    }

    /// Records an event. Never blocks, never fails. Adds the fields of the current turn unless the event has its own.
    pub fn record(&self, event: Event) {
        with_default(&self.dispatch, || {
            let event = match TurnFields::current() {
                Some(names) => names.on(event),
                None => event,
            };
            emit(&Carrier(self.redactor.event(event)));
        });
    }

    /// Records a payload, such as a request or the whole output of a tool, for log lines of level `debug`. Payloads are
    /// not stored, counted or exported. `event` is called only if such lines are written.
    pub fn payload(&self, event: impl FnOnce() -> Event) {
        with_default(&self.dispatch, || {
            if !tracing::enabled!(target: PAYLOAD_TARGET, tracing::Level::DEBUG) {
                return;
            }
            let event = Event { level: Level::Debug, ..event() };
            let event = match TurnFields::current() {
                Some(names) => names.on(event),
                None => event,
            };
            let carrier = Carrier(self.redactor.event(event));
            let value: &(dyn std::error::Error + 'static) = &carrier;
            tracing::debug!(target: PAYLOAD_TARGET, event = value);
        });
    }

    /// The redactor, for other output.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Runs `future` in the span of a turn.
    pub fn in_turn<F: Future>(&self, names: &TurnFields, future: F) -> impl Future<Output = F::Output> {
        let span = with_default(&self.dispatch, || names.as_span());
        future.instrument(span).with_subscriber(self.dispatch.clone())
    }
}

/// The subscriber of [`base`].
pub type Base = Layered<TurnFieldsLayer, Registry>;

/// A layer that consumes events.
pub type EventLayer = Box<dyn Layer<Base> + Send + Sync>;

/// The subscriber without further layers.
#[must_use]
pub fn base() -> Base {
    Registry::default().with(TurnFieldsLayer)
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

/// `tracing` macros need a constant level.
fn emit(carrier: &Carrier) {
    let value: &(dyn std::error::Error + 'static) = carrier;
    match carrier.0.event().level {
        Level::Debug => tracing::debug!(target: TARGET, event = value),
        Level::Info => tracing::info!(target: TARGET, event = value),
        Level::Warn => tracing::warn!(target: TARGET, event = value),
        Level::Error => tracing::error!(target: TARGET, event = value),
    }
}
