//! Adds library spans to the trace of the current turn. Exports only their name, target and times, since their fields
//! may contain anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use foreword_core::event::{SpanId, TraceId};
use foreword_core::timestamp::Timestamp;
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::queue::{Item, Queue};
use super::span::{Span, SpanContext, SpanKind};
use crate::carrier::{TARGET, Unpack};
use crate::turn_fields::{Spans, TurnFields};

/// The maximum number of open library spans.
const MAX_OPEN: usize = 1_024;

/// Sends events and library spans to the exporter. Never blocks.
pub struct OtlpLayer {
    pub(super) queue: Queue,
    /// Spans below this level are ignored.
    pub(super) level: Level,
    pub(super) open: Arc<AtomicUsize>,
}

/// An open library span, needed to resolve the parent of nested spans.
struct OpenSpan {
    trace: TraceId,
    id: SpanId,
    parent: Option<SpanId>,
    parts: Spans,
    since: Timestamp,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for OtlpLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if event.metadata().target() != TARGET {
            return;
        }
        let mut unpack = Unpack::default();
        event.record(&mut unpack);
        // Events without a trace are not exported.
        if let Some(event) = unpack.0.filter(|event| event.event().trace_id.is_some()) {
            self.queue.put(Item::Event(event));
        }
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        if metadata.target() == TARGET || *metadata.level() > self.level {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let Some((trace, parent, parts)) = span.scope().skip(1).find_map(|above| trace_and_parent(&above))
        else {
            return;
        };
        let Some(id) = parts.next() else { return };
        if self.open.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
            self.open.fetch_sub(1, Ordering::Relaxed);
            self.queue.count_dropped(1);
            return;
        }
        span.extensions_mut().insert(OpenSpan { trace, id, parent, parts, since: now() });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(begun) = span.extensions_mut().remove::<OpenSpan>() else { return };
        self.open.fetch_sub(1, Ordering::Relaxed);
        let metadata = span.metadata();
        let mut done = Span::new(
            SpanContext { trace: begun.trace, span: begun.id },
            metadata.name(),
            SpanKind::Internal,
            begun.since,
        );
        done.parent = begun.parent;
        done.end = now();
        done.scope = metadata.target().into();
        self.queue.put(Item::Library(Box::new(done)));
    }
}

/// The trace and parent for a span below `above`.
fn trace_and_parent<'s, S: LookupSpan<'s>>(
    above: &SpanRef<'s, S>,
) -> Option<(TraceId, Option<SpanId>, Spans)> {
    let extensions = above.extensions();
    if let Some(begun) = extensions.get::<OpenSpan>() {
        return Some((begun.trace, Some(begun.id), begun.parts.clone()));
    }
    let names = extensions.get::<TurnFields>()?;
    Some((names.trace?, names.span, names.parts.clone()))
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
