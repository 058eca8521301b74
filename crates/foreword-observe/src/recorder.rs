//! The way in: takes an event, takes the secrets out of it, and emits it through `tracing`.

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
use crate::names::{NamesLayer, TurnNames};
use crate::redact::Redactor;
use crate::sink::{EventSink, SinkLayer};

/// Takes events. Clones share one way out.
#[derive(Clone)]
pub struct Recorder {
    redactor: Redactor,
    dispatch: Dispatch,
}

impl Recorder {
    /// A recorder whose events go to `dispatch`, whose subscriber is [`base`] with layers on it.
    #[must_use]
    pub fn new(redactor: Redactor, dispatch: Dispatch) -> Self {
        Self { redactor, dispatch }
    }

    /// A recorder whose events all go to one sink, and what libraries say to nobody.
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

    /// A recorder whose events all go to each of `ways`, and what libraries say as far as `levels` lets it.
    #[must_use]
    pub fn to_all(redactor: Redactor, ways: Vec<WayOut>, levels: Levels) -> Self {
        // The levels stand in front: they also keep from the others what nobody wants.
        Self::new(redactor, Dispatch::new(base().with(ways).with(levels)))
    }

    /// Hears from now on what libraries say anywhere in the process, unless somebody does already.
    pub fn listen_everywhere(&self) {
        let _ = set_global_default(self.dispatch.clone());
    }

    /// Takes an event. Never waits, never fails. What happens in a turn gets the turn's names, unless it has its own.
    pub fn record(&self, event: Event) {
        with_default(&self.dispatch, || {
            let event = match TurnNames::current() {
                Some(names) => names.on(event),
                None => event,
            };
            emit(&Carrier(self.redactor.event(event)));
        });
    }

    /// Takes the payload of something, such as a request or a tool's whole output, for the lines of a log at level `debug`. It
    /// goes nowhere else: it is not stored, counted or exported. `event` is made only where such lines are written.
    pub fn payload(&self, event: impl FnOnce() -> Event) {
        with_default(&self.dispatch, || {
            if !tracing::enabled!(target: PAYLOAD_TARGET, tracing::Level::DEBUG) {
                return;
            }
            let event = Event { level: Level::Debug, ..event() };
            let event = match TurnNames::current() {
                Some(names) => names.on(event),
                None => event,
            };
            let carrier = Carrier(self.redactor.event(event));
            let value: &(dyn std::error::Error + 'static) = &carrier;
            tracing::debug!(target: PAYLOAD_TARGET, event = value);
        });
    }

    /// Takes the secrets out of what somebody else is shown.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Runs `future` as the turn of that name.
    pub fn in_turn<F: Future>(&self, names: &TurnNames, future: F) -> impl Future<Output = F::Output> {
        let span = with_default(&self.dispatch, || names.as_span());
        future.instrument(span).with_subscriber(self.dispatch.clone())
    }
}

/// What [`base`] gives.
pub type Base = Layered<NamesLayer, Registry>;

/// A layer that does something with events.
pub type WayOut = Box<dyn Layer<Base> + Send + Sync>;

/// What the subscriber of a recorder is made of before anything listens.
#[must_use]
pub fn base() -> Base {
    Registry::default().with(NamesLayer)
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

/// `tracing` wants to know the level when it is compiled.
fn emit(carrier: &Carrier) {
    let value: &(dyn std::error::Error + 'static) = carrier;
    match carrier.0.event().level {
        Level::Debug => tracing::debug!(target: TARGET, event = value),
        Level::Info => tracing::info!(target: TARGET, event = value),
        Level::Warn => tracing::warn!(target: TARGET, event = value),
        Level::Error => tracing::error!(target: TARGET, event = value),
    }
}
