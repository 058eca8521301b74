//! The way in: takes an event, takes the secrets out of it, and emits it through `tracing`.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use foreword_core::event::{Event, Level, SpanId, TraceId};
use foreword_core::id::{ConversationId, TurnId};
use tracing::dispatcher::{set_global_default, with_default};
use tracing::instrument::{Instrument as _, WithSubscriber as _};
use tracing::{Dispatch, Span};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::carrier::{Carrier, TARGET};
use crate::lines::queue::LineQueue;
use crate::lines::{Levels, LineLayer};
use crate::redact::Redactor;
use crate::sink::{EventSink, SinkLayer};

/// Takes events. Clones share one way out.
#[derive(Clone)]
pub struct Recorder {
    redactor: Redactor,
    dispatch: Dispatch,
}

/// What a turn is known by. Whatever a library says while the turn runs is said under these names.
#[derive(Debug, Clone)]
pub struct TurnNames {
    /// The conversation.
    pub session: ConversationId,
    /// The turn.
    pub turn: TurnId,
    /// The user, if there is a known one.
    pub user: Option<Arc<str>>,
    /// Where they speak.
    pub channel: Option<Arc<str>>,
    /// The trace the turn is.
    pub trace: Option<TraceId>,
    /// The turn's own span in it.
    pub span: Option<SpanId>,
}

impl Recorder {
    /// A recorder whose events go to `dispatch`.
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
        Self::new(redactor, Dispatch::new(Registry::default().with(SinkLayer::new(sink))))
    }

    /// A recorder whose events all go to `sink`, and, with what libraries say, to lines as far as `levels` lets them.
    #[must_use]
    pub fn to_all(
        redactor: Redactor,
        sink: impl EventSink,
        lines: Vec<LineLayer<LineQueue>>,
        levels: Levels,
    ) -> Self {
        // The levels stand in front: they also keep from the others what nobody would write.
        let registry = Registry::default().with(SinkLayer::new(sink)).with(lines).with(levels);
        Self::new(redactor, Dispatch::new(registry))
    }

    /// Hears from now on what libraries say anywhere in the process, unless somebody does already.
    pub fn listen_everywhere(&self) {
        let _ = set_global_default(self.dispatch.clone());
    }

    /// Takes an event. Never waits, never fails.
    pub fn record(&self, event: Event) {
        let carrier = Carrier(self.redactor.event(event));
        with_default(&self.dispatch, || emit(&carrier));
    }

    /// Takes the secrets out of what somebody else is shown.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Runs `future` as the turn of that name.
    pub fn in_turn<F: Future>(&self, names: &TurnNames, future: F) -> impl Future<Output = F::Output> {
        let span = with_default(&self.dispatch, || turn_span(names));
        future.instrument(span).with_subscriber(self.dispatch.clone())
    }
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

fn turn_span(names: &TurnNames) -> Span {
    let TurnNames { session, turn, user, channel, trace, span } = names;
    tracing::info_span!(
        target: TARGET,
        "turn",
        session = session.as_str(),
        turn = turn.as_str(),
        user = user.as_deref(),
        channel = channel.as_deref(),
        trace = trace.map(tracing::field::display),
        span = span.map(tracing::field::display),
    )
}
