//! Puts the spans of traces together out of events. An event tells of something that is over, or of a beginning or an end;
//! a span is both. Holds what is not over yet, within bounds, and knows no clock but the one it is given.

use std::collections::BTreeMap;
use std::time::Duration;

use foreword_core::event::{Event, EventType, SpanId, TraceId};
use serde_json::Value;
use tokio::time::Instant;

use super::span::{Attribute, Span, SpanKind};
use super::told::{self, Tools};

/// How long is waited for an answer to be sent once its turn has ended. A turn that failed sends none.
const GRACE: Duration = Duration::from_secs(2);
/// How many traces may be open at once.
const MOST_OPEN: usize = 1_024;
/// How many other messages a turn is linked with.
const MOST_LINKS: usize = 32;

/// The traces that are not over.
#[derive(Debug, Default)]
pub(super) struct Traces {
    open: BTreeMap<TraceId, Open>,
    tools: Tools,
    /// Counts what was opened, so that the oldest is known.
    opened: u64,
}

#[derive(Debug, Default)]
struct Open {
    number: u64,
    /// The message everything comes of.
    root: Option<Span>,
    turns: BTreeMap<SpanId, Span>,
    /// Since when no turn runs any more.
    settled: Option<Instant>,
}

impl Traces {
    /// Takes an event in; what is over thereby goes to `out`.
    pub(super) fn take(&mut self, event: &Event, now: Instant, out: &mut Vec<Span>) {
        let (Some(trace), Some(id)) = (event.trace_id, event.span_id) else { return };
        match event.event_type {
            EventType::MessageReceived => self.received(event, (trace, id)),
            EventType::TurnStarted => self.turn_started(event, (trace, id)),
            EventType::TurnCompleted => self.turn_completed(event, (trace, id), (now, out)),
            EventType::ApiCall | EventType::ApiError => out.push(chat(event, (trace, id))),
            EventType::ToolCall => {
                self.tools.ran(told::text(event, "tool").unwrap_or_default());
                out.push(tool(event, (trace, id)));
            }
            // The call before it has said so.
            EventType::ToolError => {}
            EventType::MessageSent => {
                self.within(event, trace);
                self.end_root(trace, event, out);
            }
            _ => self.within(event, trace),
        }
    }

    /// What has waited long enough for its end.
    pub(super) fn settle(&mut self, now: Instant, out: &mut Vec<Span>) {
        self.end_settled(|since| now.duration_since(since) >= GRACE, out);
    }

    /// When there is something to settle next.
    pub(super) fn next_settling(&self) -> Option<Instant> {
        self.open.values().filter_map(|open| open.settled).min().map(|since| since + GRACE)
    }

    /// Whatever is over, at once. A turn that still runs is told of by whoever goes on with it.
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
        if !self.open.contains_key(&trace) && self.open.len() >= MOST_OPEN {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.number).map(|(id, _)| *id);
            oldest.and_then(|oldest| self.open.remove(&oldest));
        }
        self.opened += 1;
        let number = self.opened;
        self.open.entry(trace).or_insert_with(|| Open { number, ..Open::default() })
    }

    fn received(&mut self, event: &Event, ids: (TraceId, SpanId)) {
        let root = root(event, ids);
        self.open(ids.0).root.get_or_insert(root);
    }

    fn turn_started(&mut self, event: &Event, ids: (TraceId, SpanId)) {
        let agent = event.agent_id.as_deref().unwrap_or_default();
        let mut turn =
            Span::new(ids, format!("invoke_agent {agent}").trim_end(), SpanKind::Internal, event.timestamp);
        turn.parent = event.parent_span_id;
        turn.attributes = told::whose(event);
        turn.attributes.add("gen_ai.operation.name", "invoke_agent");
        told::model(event, &mut turn.attributes);
        turn.links = others(event, ids.0);
        let open = self.open(ids.0);
        open.settled = None;
        if let (None, Some(parent)) = (&open.root, event.parent_span_id) {
            // Another process has taken the message in, or nobody has: the turn came by itself.
            open.root = Some(root(event, (ids.0, parent)));
        }
        // A turn that is gone on with keeps its beginning.
        open.turns.entry(ids.1).or_insert(turn);
    }

    fn turn_completed(
        &mut self,
        event: &Event,
        ids: (TraceId, SpanId),
        (now, out): (Instant, &mut Vec<Span>),
    ) {
        let Some(mut turn) = self.open.get_mut(&ids.0).and_then(|open| open.turns.remove(&ids.1)) else {
            return;
        };
        turn.end = event.timestamp;
        told::usage(event, &mut turn.attributes);
        let outcome = told::outcome(event).unwrap_or("failed");
        turn.attributes.add("foreword.outcome", outcome);
        let calls = event.metadata.as_ref().and_then(|all| all.get("toolCallCount")).and_then(Value::as_u64);
        turn.attributes.add_some("foreword.tool_calls", calls);
        turn.failed = outcome == "failed";
        if turn.failed {
            turn.attributes.add("error.type", outcome);
        }
        let links = std::mem::take(&mut turn.links);
        for (trace, _) in &links {
            self.over(*trace, &turn, now);
        }
        self.over(ids.0, &turn, now);
        out.push(Span { links, ..turn });
    }

    /// Notes that a turn for this message is over.
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

    /// Something that happened within a span that is open.
    fn within(&mut self, event: &Event, trace: TraceId) {
        let told = self.tools.span_event(event);
        let Some(open) = self.open.get_mut(&trace) else { return };
        if matches!(event.event_type, EventType::TrustResolved | EventType::PromptBuilt) {
            open.turns.values_mut().for_each(|turn| told::standing(event, &mut turn.attributes));
        }
        let turn = event.parent_span_id.and_then(|parent| open.turns.get_mut(&parent));
        if let Some(span) = turn.or(open.root.as_mut()) {
            span.tell(told);
        }
    }
}

fn root(event: &Event, ids: (TraceId, SpanId)) -> Span {
    let mut root = Span::new(ids, "message", SpanKind::Server, event.timestamp);
    root.attributes = told::whose(event);
    root
}

/// The other messages that a turn takes up, beside the one it is part of.
fn others(event: &Event, own: TraceId) -> Vec<(TraceId, SpanId)> {
    let messages = event.metadata.as_ref().and_then(|all| all.get("messages")).and_then(Value::as_array);
    let names = messages.into_iter().flatten().filter_map(Value::as_str);
    let traces = names.filter_map(TraceId::named).filter(|trace| *trace != own);
    traces.filter_map(|trace| Some((trace, trace.span("message")?))).take(MOST_LINKS).collect()
}

/// A span that ends when its event was told.
fn ended(event: &Event, ids: (TraceId, SpanId), name: &str, kind: SpanKind) -> Span {
    let mut span = Span::new(ids, name.trim_end(), kind, event.timestamp);
    span.start = event.timestamp.minus(Duration::from_millis(event.duration_ms.unwrap_or_default()));
    span.parent = event.parent_span_id;
    span.attributes = told::whose(event);
    span
}

fn chat(event: &Event, ids: (TraceId, SpanId)) -> Span {
    let model = told::text(event, "model").and_then(|model| model.split_once('/'));
    let name = model.map(|(_, name)| name).unwrap_or_default();
    let mut span = ended(event, ids, &format!("chat {name}"), SpanKind::Client);
    span.attributes.add("gen_ai.operation.name", "chat");
    told::model(event, &mut span.attributes);
    told::usage(event, &mut span.attributes);
    if told::text(event, "for") == Some("summary") {
        span.attributes.add("foreword.purpose", "summary");
    }
    if event.event_type == EventType::ApiError {
        span.failed = true;
        span.attributes.add("error.type", &*told::error_type(event));
        let attempt = event.metadata.as_ref().and_then(|all| all.get("retryAttempt")).and_then(Value::as_u64);
        span.attributes.add_some("foreword.attempt", attempt);
    }
    span
}

fn tool(event: &Event, ids: (TraceId, SpanId)) -> Span {
    let name = told::text(event, "tool").unwrap_or_default();
    let mut span = ended(event, ids, &format!("execute_tool {name}"), SpanKind::Internal);
    span.attributes.add("gen_ai.operation.name", "execute_tool");
    span.attributes.add("gen_ai.tool.name", name);
    let failed = event.metadata.as_ref().and_then(|all| all.get("isError")).and_then(Value::as_bool);
    span.failed = failed.unwrap_or_default();
    if span.failed {
        span.attributes.add("error.type", Attribute::Text("tool_error".to_owned()));
    }
    span
}
