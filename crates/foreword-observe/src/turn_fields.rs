//! The fields that identify a turn. They are attached to the span of the turn, so that all events during a turn carry
//! them, including those of libraries.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foreword_core::event::{Event, SpanId, TraceId};
use foreword_core::id::{ConversationId, TurnId};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Dispatch, Span, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::carrier::TARGET;

/// The name of a turn's span.
pub(crate) const TURN_SPAN: &str = "turn";

/// The fields that identify a turn.
#[derive(Debug, Clone)]
pub struct TurnFields {
    /// The conversation.
    pub session: ConversationId,
    /// The turn.
    pub turn: TurnId,
    /// The agent.
    pub agent: Arc<str>,
    /// The user, if known.
    pub user: Option<Arc<str>>,
    /// The channel.
    pub channel: Option<Arc<str>>,
    /// The trace of the turn.
    pub trace: Option<TraceId>,
    /// The span of the turn.
    pub span: Option<SpanId>,
    /// The span ids of its parts.
    pub parts: Spans,
}

/// Allocates span ids for the parts of a turn. Clones share the counter.
#[derive(Debug, Clone)]
pub struct Spans(Arc<AtomicU64>);

impl Spans {
    /// Span ids starting at `first`, which must be random to be unique across processes.
    #[must_use]
    pub fn from(first: u64) -> Self {
        Self(Arc::new(AtomicU64::new(first)))
    }

    /// The next id.
    #[must_use]
    pub fn next(&self) -> Option<SpanId> {
        SpanId::new(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl TurnFields {
    /// Adds the turn's fields to the event. Existing values are kept; an event of another conversation or turn is
    /// unchanged.
    #[must_use]
    pub fn on(&self, mut event: Event) -> Event {
        let foreign = event.session_id.as_ref().is_some_and(|session| *session != self.session)
            || event.turn_id.as_ref().is_some_and(|turn| *turn != self.turn);
        if foreign {
            return event;
        }
        event.session_id.get_or_insert_with(|| self.session.clone());
        event.turn_id.get_or_insert_with(|| self.turn.clone());
        event.agent_id.get_or_insert_with(|| Arc::clone(&self.agent));
        event.user_id = event.user_id.or_else(|| self.user.clone());
        event.channel = event.channel.or_else(|| self.channel.clone());
        if event.trace_id.is_none() && event.span_id.is_none() {
            event.trace_id = self.trace;
            event.span_id = self.parts.next();
            event.parent_span_id = self.span;
        }
        event
    }

    /// The fields of the turn that is running here, if any.
    #[must_use]
    pub fn current() -> Option<Self> {
        let found = Span::current().with_subscriber(|(id, dispatch): (&Id, &Dispatch)| {
            let mut span = dispatch.downcast_ref::<Registry>()?.span(id);
            while let Some(this) = span {
                if let Some(names) = this.extensions().get::<Self>() {
                    return Some(names.clone());
                }
                span = this.parent();
            }
            None
        });
        found.flatten()
    }

    /// The span of the turn, with these fields attached.
    pub(crate) fn as_span(&self) -> Span {
        let carrier = Carrier(self.clone());
        let names: &(dyn Error + 'static) = &carrier;
        tracing::info_span!(target: TARGET, TURN_SPAN, names)
    }
}

/// The fields as a `tracing` value: only errors can be passed as typed values.
#[derive(Debug)]
struct Carrier(TurnFields);

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.session, self.0.turn)
    }
}

impl Error for Carrier {}

/// The layer that attaches turn fields to spans. Every subscriber of a [`Recorder`] starts with it.
///
/// [`Recorder`]: crate::recorder::Recorder
#[derive(Debug, Clone, Copy, Default)]
pub struct TurnFieldsLayer;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TurnFieldsLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().target() != TARGET {
            return;
        }
        let mut unpack = Unpack(None);
        attributes.record(&mut unpack);
        if let (Some(names), Some(span)) = (unpack.0, context.span(id)) {
            span.extensions_mut().insert(names);
        }
    }
}

struct Unpack(Option<TurnFields>);

impl Visit for Unpack {
    fn record_error(&mut self, _field: &Field, value: &(dyn Error + 'static)) {
        if let Some(Carrier(names)) = value.downcast_ref() {
            self.0 = Some(names.clone());
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn fmt::Debug) {}
}
