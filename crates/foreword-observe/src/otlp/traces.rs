//! Assembles spans from events. Some events report a finished operation, others only a start or an end. Keeps open
//! spans in bounded memory; the caller passes the time.

use std::collections::BTreeMap;
use std::time::Duration;

use foreword_core::event::{Event, EventType, SpanId, TraceId};
use serde_json::Value;
use tokio::time::Instant;

use super::attributes::{self, Tools};
use super::span::{Attribute, Span, SpanContext, SpanKind};

/// How long to wait for the reply event after the turn has ended. A failed turn has no reply.
const REPLY_GRACE_PERIOD: Duration = Duration::from_secs(2);
/// The maximum number of open traces.
const MAX_OPEN: usize = 1_024;
/// The maximum number of linked messages per turn.
const MAX_LINKS: usize = 32;

/// The open traces.
#[derive(Debug, Default)]
pub(super) struct Traces {
    open: BTreeMap<TraceId, Open>,
    tools: Tools,
    /// A counter of opened traces, to find the oldest.
    opened: u64,
}

#[derive(Debug, Default)]
struct Open {
    number: u64,
    /// The root span: the received message.
    root: Option<Span>,
    turns: BTreeMap<SpanId, Span>,
    /// Since when no turn of the trace is running.
    settled: Option<Instant>,
}

impl Traces {
    /// Processes an event and appends finished spans to `out`.
    pub(super) fn take(&mut self, event: &Event, now: Instant, out: &mut Vec<Span>) {
        let (Some(trace), Some(span)) = (event.trace_id, event.span_id) else { return };
        let context = SpanContext { trace, span };
        match event.event_type {
            EventType::MessageReceived => self.received(event, context),
            EventType::TurnStarted => self.turn_started(event, context),
            EventType::TurnCompleted => self.turn_completed(event, context, now, out),
            EventType::ApiCall | EventType::ApiError => out.push(chat(event, context)),
            EventType::ToolCall => {
                self.tools.ran(attributes::text(event, "tool").unwrap_or_default());
                out.push(tool(event, context));
            }
            // Already reported by the preceding tool call event.
            EventType::ToolError => {}
            EventType::MessageSent => {
                self.within(event, trace);
                self.end_root(trace, event, out);
            }
            _ => self.within(event, trace),
        }
    }

    /// Closes traces whose grace period is over.
    pub(super) fn settle(&mut self, now: Instant, out: &mut Vec<Span>) {
        self.end_settled(|since| now.duration_since(since) >= REPLY_GRACE_PERIOD, out);
    }

    /// When the next grace period ends.
    pub(super) fn next_settling(&self) -> Option<Instant> {
        self.open.values().filter_map(|open| open.settled).min().map(|since| since + REPLY_GRACE_PERIOD)
    }

    /// Closes all finished traces immediately. A running turn is exported by the process that resumes it.
    pub(super) fn close(&mut self, out: &mut Vec<Span>) {
        self.end_settled(|_| true, out);
        self.open.clear();
    }

    fn end_settled(&mut self, is_due: impl Fn(Instant) -> bool, out: &mut Vec<Span>) {
        let due = |open: &Open| open.settled.is_some_and(&is_due);
        let over: Vec<TraceId> = self.open.iter().filter(|(_, open)| due(open)).map(|(id, _)| *id).collect();
        out.extend(over.into_iter().filter_map(|trace| self.open.remove(&trace)?.root));
    }

    fn open(&mut self, trace: TraceId) -> &mut Open {
        if !self.open.contains_key(&trace) && self.open.len() >= MAX_OPEN {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.number).map(|(id, _)| *id);
            oldest.and_then(|oldest| self.open.remove(&oldest));
        }
        self.opened += 1;
        let number = self.opened;
        self.open.entry(trace).or_insert_with(|| Open { number, ..Open::default() })
    }

    fn received(&mut self, event: &Event, context: SpanContext) {
        let root = root(event, context);
        self.open(context.trace).root.get_or_insert(root);
    }

    fn turn_started(&mut self, event: &Event, context: SpanContext) {
        let agent = event.agent_id.as_deref().unwrap_or_default();
        let mut turn = Span::new(
            context,
            format!("invoke_agent {agent}").trim_end(),
            SpanKind::Internal,
            event.timestamp,
        );
        turn.parent = event.parent_span_id;
        turn.attributes = attributes::identity(event);
        turn.attributes.add("gen_ai.operation.name", "invoke_agent");
        attributes::model(event, &mut turn.attributes);
        turn.links = others(event, context.trace);
        let open = self.open(context.trace);
        open.settled = None;
        if let (None, Some(parent)) = (&open.root, event.parent_span_id) {
            // The message was received by another process, or the turn has no message.
            open.root = Some(root(event, SpanContext { span: parent, ..context }));
        }
        // A resumed turn keeps its start.
        open.turns.entry(context.span).or_insert(turn);
    }

    fn turn_completed(&mut self, event: &Event, context: SpanContext, now: Instant, out: &mut Vec<Span>) {
        let Some(mut turn) =
            self.open.get_mut(&context.trace).and_then(|open| open.turns.remove(&context.span))
        else {
            return;
        };
        turn.end = event.timestamp;
        attributes::usage(event, &mut turn.attributes);
        let outcome = attributes::outcome(event).unwrap_or("failed");
        turn.attributes.add("foreword.outcome", outcome);
        let calls = event.metadata.as_ref().and_then(|all| all.get("toolCallCount")).and_then(Value::as_u64);
        turn.attributes.add_some("foreword.tool_calls", calls);
        turn.failed = outcome == "failed";
        if turn.failed {
            turn.attributes.add("error.type", outcome);
        }
        let links = std::mem::take(&mut turn.links);
        for link in &links {
            self.over(link.trace, &turn, now);
        }
        self.over(context.trace, &turn, now);
        out.push(Span { links, ..turn });
    }

    /// Records the end of a turn of this trace.
    fn over(&mut self, trace: TraceId, turn: &Span, now: Instant) {
        let Some(open) = self.open.get_mut(&trace) else { return };
        if let Some(root) = &mut open.root {
            root.end = root.end.max(turn.end);
            root.failed = turn.failed;
            if turn.failed {
                root.attributes.add("error.type", "failed");
            }
        }
        if open.turns.is_empty() {
            open.settled = Some(now);
        }
    }

    fn end_root(&mut self, trace: TraceId, event: &Event, out: &mut Vec<Span>) {
        if self.open.get(&trace).is_some_and(|open| open.settled.is_some())
            && let Some(mut root) = self.open.remove(&trace).and_then(|open| open.root)
        {
            root.end = root.end.max(event.timestamp);
            out.push(root);
        }
    }

    /// Adds an event to an open span.
    fn within(&mut self, event: &Event, trace: TraceId) {
        let span_event = self.tools.span_event(event);
        let Some(open) = self.open.get_mut(&trace) else { return };
        if matches!(event.event_type, EventType::TrustResolved | EventType::PromptBuilt) {
            open.turns.values_mut().for_each(|turn| attributes::trust_and_epoch(event, &mut turn.attributes));
        }
        let turn = event.parent_span_id.and_then(|parent| open.turns.get_mut(&parent));
        if let Some(span) = turn.or(open.root.as_mut()) {
            span.add_event(span_event);
        }
    }
}

fn root(event: &Event, context: SpanContext) -> Span {
    let mut root = Span::new(context, "message", SpanKind::Server, event.timestamp);
    root.attributes = attributes::identity(event);
    root
}

/// The other messages that the turn answers.
fn others(event: &Event, own: TraceId) -> Vec<SpanContext> {
    let messages = event.metadata.as_ref().and_then(|all| all.get("messages")).and_then(Value::as_array);
    let names = messages.into_iter().flatten().filter_map(Value::as_str);
    let traces = names.filter_map(TraceId::named).filter(|trace| *trace != own);
    traces
        .filter_map(|trace| Some(SpanContext { trace, span: trace.span("message")? }))
        .take(MAX_LINKS)
        .collect()
}

/// A span that ends at the time of its event.
fn ended(event: &Event, context: SpanContext, name: &str, kind: SpanKind) -> Span {
    let mut span = Span::new(context, name.trim_end(), kind, event.timestamp);
    span.start = event.timestamp.minus(Duration::from_millis(event.duration_ms.unwrap_or_default()));
    span.parent = event.parent_span_id;
    span.attributes = attributes::identity(event);
    span
}

fn chat(event: &Event, context: SpanContext) -> Span {
    let model = attributes::text(event, "model").and_then(|model| model.split_once('/'));
    let name = model.map(|(_, name)| name).unwrap_or_default();
    let mut span = ended(event, context, &format!("chat {name}"), SpanKind::Client);
    span.attributes.add("gen_ai.operation.name", "chat");
    attributes::model(event, &mut span.attributes);
    attributes::usage(event, &mut span.attributes);
    if attributes::text(event, "for") == Some("summary") {
        span.attributes.add("foreword.purpose", "summary");
    }
    if event.event_type == EventType::ApiError {
        span.failed = true;
        span.attributes.add("error.type", &*attributes::error_type(event));
        let attempt = event.metadata.as_ref().and_then(|all| all.get("retryAttempt")).and_then(Value::as_u64);
        span.attributes.add_some("foreword.attempt", attempt);
    }
    span
}

fn tool(event: &Event, context: SpanContext) -> Span {
    let name = attributes::text(event, "tool").unwrap_or_default();
    let mut span = ended(event, context, &format!("execute_tool {name}"), SpanKind::Internal);
    span.attributes.add("gen_ai.operation.name", "execute_tool");
    span.attributes.add("gen_ai.tool.name", name);
    let failed = event.metadata.as_ref().and_then(|all| all.get("isError")).and_then(Value::as_bool);
    span.failed = failed.unwrap_or_default();
    if span.failed {
        span.attributes.add("error.type", Attribute::Text("tool_error".to_owned()));
    }
    span
}
