//! Builds the span tree of a turn from its events. Every event is in the tree exactly once, even if parent references
//! are inconsistent.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::event::{EventType, SpanId, StoredEvent};
use crate::timestamp::Timestamp;

/// The metadata keys with the delay before a retry.
const DELAYS: [&str; 2] = ["delayMs", "retryDelayMs"];

/// The spans of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpanTree {
    /// The root spans, by start time.
    pub spans: Vec<Span>,
    /// When the first span started.
    pub began: Timestamp,
    /// The time from there to the end of the last span.
    pub duration_ms: u64,
}

/// A span and its children.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// The type of its event, `turn`, or `wait`.
    pub name: String,
    /// The time since the start of the tree.
    pub offset_ms: u64,
    /// The duration, children included.
    pub duration_ms: u64,
    /// Its events; empty for a wait.
    pub events: Vec<StoredEvent>,
    /// The child spans, by start time.
    pub children: Vec<Span>,
}

impl Span {
    /// Whether it is a wait.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        self.events.is_empty()
    }
}

impl SpanTree {
    /// The tree of `events`, which must be sorted by time. `None` if there are none.
    ///
    /// An event's timestamp is its end. Events with the same span id form one span. A span with a missing parent or a
    /// cycle is a root; events without a span belong to the turn.
    ///
    /// ```
    /// use foreword_core::event::{Event, EventType, SpanId, StoredEvent};
    /// use foreword_core::span_tree::SpanTree;
    ///
    /// let at = |time: &str| time.parse().unwrap();
    /// let span = |id, parent, event: Event| StoredEvent {
    ///     id,
    ///     event: Event { span_id: SpanId::new(id), parent_span_id: SpanId::new(parent), ..event },
    /// };
    /// let call = Event { duration_ms: Some(700), ..Event::new(EventType::ApiCall, at("2026-11-16T08:00:01Z")) };
    /// let started = Event::new(EventType::TurnStarted, at("2026-11-16T08:00:00Z"));
    /// let tree = SpanTree::of(vec![span(1, 0, started), span(2, 1, call)]).unwrap();
    /// let turn = &tree.spans[0];
    /// assert_eq!((turn.name.as_str(), turn.duration_ms), ("turn", 1_000));
    /// assert_eq!((turn.children[0].name.as_str(), turn.children[0].offset_ms), ("api_call", 300));
    /// ```
    #[must_use]
    pub fn of(events: Vec<StoredEvent>) -> Option<Self> {
        let nodes = Node::group(events);
        let parents = parents(&nodes);
        let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (place, parent) in parents.into_iter().enumerate() {
            children.entry(parent).or_default().push(place);
        }
        let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
        let timed = timed(None, &children, &mut nodes);
        let began = timed.iter().map(|span| span.start).min()?;
        let ended = timed.iter().map(|span| span.end).max()?;
        let spans = timed.into_iter().map(|span| span.into_span(began)).collect();
        Some(Self { spans, began, duration_ms: millis(ended.since(began)) })
    }
}

/// The events of one span.
struct Node {
    events: Vec<StoredEvent>,
}

impl Node {
    fn group(events: Vec<StoredEvent>) -> Vec<Self> {
        let mut places: BTreeMap<SpanId, usize> = BTreeMap::new();
        let mut nodes: Vec<Self> = Vec::new();
        for event in events {
            let place = event.event.span_id.map(|id| *places.entry(id).or_insert(nodes.len()));
            match place.and_then(|place| nodes.get_mut(place)) {
                Some(node) => node.events.push(event),
                None => nodes.push(Self { events: vec![event] }),
            }
        }
        nodes
    }

    fn id(&self) -> Option<SpanId> {
        self.events.iter().find_map(|event| event.event.span_id)
    }

    fn parent(&self) -> Option<SpanId> {
        self.events.iter().find_map(|event| event.event.parent_span_id)
    }

    fn is_turn(&self) -> bool {
        let is_turn = |event: &StoredEvent| {
            matches!(event.event.event_type, EventType::TurnStarted | EventType::TurnCompleted)
        };
        self.events.iter().any(is_turn)
    }

    fn name(&self) -> &str {
        match self.events.first() {
            _ if self.is_turn() => "turn",
            Some(event) => event.event.event_type.as_str(),
            None => "wait",
        }
    }

    fn start(&self) -> Option<Timestamp> {
        let start = |event: &StoredEvent| {
            event.event.timestamp.minus(Duration::from_millis(event.event.duration_ms.unwrap_or(0)))
        };
        self.events.iter().map(start).min()
    }

    fn end(&self) -> Option<Timestamp> {
        self.events.iter().map(|event| event.event.timestamp).max()
    }

    /// The delay after it.
    fn delay(&self) -> Option<Duration> {
        let delay = |event: &StoredEvent| {
            let metadata = event.event.metadata.as_ref()?;
            DELAYS.iter().find_map(|name| metadata.get(*name).and_then(Value::as_u64))
        };
        self.events.iter().find_map(delay).filter(|delay| *delay > 0).map(Duration::from_millis)
    }
}

/// The index of each node's parent.
fn parents(nodes: &[Node]) -> Vec<Option<usize>> {
    let places: BTreeMap<SpanId, usize> =
        nodes.iter().enumerate().filter_map(|(place, node)| Some((node.id()?, place))).collect();
    let turn = nodes.iter().position(Node::is_turn);
    let parent = |(place, node): (usize, &Node)| match (node.id(), node.parent()) {
        (_, Some(parent)) => places.get(&parent).copied().filter(|parent| *parent != place),
        (None, None) => turn.filter(|turn| *turn != place),
        (Some(_), None) => None,
    };
    let mut parents: Vec<Option<usize>> = nodes.iter().enumerate().map(parent).collect();
    for place in 0..parents.len() {
        if is_part_of_itself(place, &parents) {
            parents[place] = None;
        }
    }
    parents
}

fn is_part_of_itself(place: usize, parents: &[Option<usize>]) -> bool {
    let mut above = parents.get(place).copied().flatten();
    // A path longer than the number of nodes is a cycle.
    for _ in 0..parents.len() {
        match above {
            Some(found) if found == place => return true,
            Some(found) => above = parents.get(found).copied().flatten(),
            None => return false,
        }
    }
    false
}

/// A span with its times.
struct TimedSpan {
    name: String,
    start: Timestamp,
    end: Timestamp,
    delay: Option<Duration>,
    events: Vec<StoredEvent>,
    children: Vec<TimedSpan>,
}

impl TimedSpan {
    fn into_span(self, began: Timestamp) -> Span {
        Span {
            name: self.name,
            offset_ms: millis(self.start.since(began)),
            duration_ms: millis(self.end.since(self.start)),
            events: self.events,
            children: self.children.into_iter().map(|child| child.into_span(began)).collect(),
        }
    }
}

/// The child spans of a node, extended to contain their children.
fn timed(
    parent: Option<usize>,
    children: &BTreeMap<Option<usize>, Vec<usize>>,
    nodes: &mut [Option<Node>],
) -> Vec<TimedSpan> {
    let mut spans = Vec::new();
    for place in children.get(&parent).into_iter().flatten() {
        let below = timed(Some(*place), children, nodes);
        let Some(node) = nodes.get_mut(*place).and_then(Option::take) else { continue };
        let starts = below.iter().map(|child| child.start).chain(node.start());
        let ends = below.iter().map(|child| child.end).chain(node.end());
        let (Some(start), Some(end)) = (starts.min(), ends.max()) else { continue };
        let (name, delay) = (node.name().to_owned(), node.delay());
        spans.push(TimedSpan { name, start, end, delay, events: node.events, children: below });
    }
    // Stable: spans with the same start keep their recorded order.
    spans.sort_by_key(|span| span.start);
    with_waits(spans)
}

/// Adds a wait after each span with a delay, up to the start of the next span.
fn with_waits(spans: Vec<TimedSpan>) -> Vec<TimedSpan> {
    let starts: Vec<Timestamp> = spans.iter().map(|span| span.start).collect();
    let mut out = Vec::new();
    for span in spans {
        let wait = span.delay.map(|delay| {
            let next = starts.iter().copied().filter(|start| *start > span.end).min();
            let (start, end) = (span.end, span.end.plus(delay));
            let end = next.map_or(end, |next| next.min(end));
            let name = "wait".to_owned();
            TimedSpan { name, start, end, delay: None, events: Vec::new(), children: Vec::new() }
        });
        out.push(span);
        out.extend(wait);
    }
    out
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::event::Event;

    fn at(millis: u64) -> Timestamp {
        let start: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        start.plus(Duration::from_millis(millis))
    }

    /// An event with its span and parent, its end and its duration.
    fn event(event_type: EventType, span: u64, parent: u64, end: u64, took: u64) -> StoredEvent {
        let event = Event {
            span_id: SpanId::new(span),
            parent_span_id: SpanId::new(parent),
            duration_ms: (took > 0).then_some(took),
            ..Event::new(event_type, at(end))
        };
        StoredEvent { id: end, event }
    }

    fn drawn(spans: &[Span], depth: usize) -> Vec<String> {
        let line = |span: &Span| {
            let own = format!("{}{} {}+{}", "  ".repeat(depth), span.name, span.offset_ms, span.duration_ms);
            std::iter::once(own).chain(drawn(&span.children, depth + 1)).collect::<Vec<_>>()
        };
        spans.iter().flat_map(line).collect()
    }

    fn check(events: Vec<StoredEvent>, expected: &[&str]) {
        let tree = SpanTree::of(events).unwrap();
        assert_eq!(drawn(&tree.spans, 0), expected);
    }

    #[test]
    fn message_contains_its_turn_and_the_turn_its_calls() {
        check(
            vec![
                event(EventType::MessageReceived, 1, 0, 0, 0),
                event(EventType::TrustResolved, 2, 1, 1, 0),
                event(EventType::PromptBuilt, 3, 1, 3, 2),
                event(EventType::TurnStarted, 4, 1, 3, 0),
                event(EventType::ApiCall, 5, 4, 1_000, 900),
                event(EventType::ToolCall, 6, 4, 1_200, 120),
                event(EventType::ApiCall, 7, 4, 2_200, 900),
                event(EventType::TurnCompleted, 4, 1, 2_203, 2_200),
                event(EventType::MessageSent, 8, 1, 2_210, 0),
            ],
            &[
                "message_received 0+2210",
                "  trust_resolved 1+0",
                "  prompt_built 1+2",
                "  turn 3+2200",
                "    api_call 100+900",
                "    tool_call 1080+120",
                "    api_call 1300+900",
                "  message_sent 2210+0",
            ],
        );
    }

    #[test]
    fn events_without_span_belong_to_the_turn() {
        check(
            vec![
                event(EventType::TurnStarted, 4, 0, 0, 0),
                event(EventType::SessionCompacted, 0, 0, 5, 0),
                event(EventType::ApiCall, 5, 4, 100, 90),
                event(EventType::TurnCompleted, 4, 0, 110, 110),
            ],
            &["turn 0+110", "  session_compacted 5+0", "  api_call 10+90"],
        );
    }

    #[test]
    fn wait_follows_the_failed_call() {
        let failed = |span, end, delay: u64| {
            let mut event = event(EventType::ApiError, span, 4, end, 50);
            event.event.metadata = Some(json!({ "delayMs": delay, "retryAttempt": 1 }));
            event
        };
        check(
            vec![
                event(EventType::TurnStarted, 4, 0, 0, 0),
                failed(5, 50, 1_000),
                failed(6, 1_100, 4_000),
                event(EventType::ApiCall, 7, 4, 3_000, 900),
            ],
            &[
                "turn 0+3000",
                "  api_error 0+50",
                "  wait 50+1000",
                "  api_error 1050+50",
                "  wait 1100+1000",
                "  api_call 2100+900",
            ],
        );
    }

    #[test]
    fn cyclic_and_orphaned_spans_are_roots() {
        check(
            vec![
                event(EventType::ApiCall, 1, 2, 10, 0),
                event(EventType::ToolCall, 2, 1, 20, 0),
                event(EventType::ToolCall, 3, 3, 30, 0),
                event(EventType::ToolCall, 4, 99, 40, 0),
            ],
            &["api_call 0+10", "  tool_call 10+0", "tool_call 20+0", "tool_call 30+0"],
        );
        assert_eq!(SpanTree::of(Vec::new()), None);
    }

    fn count(spans: &[Span]) -> usize {
        spans.iter().map(|span| span.events.len() + count(&span.children)).sum()
    }

    fn is_within(spans: &[Span]) -> bool {
        spans.iter().all(|span| {
            let end = |span: &Span| span.offset_ms + span.duration_ms;
            // To the millisecond, since each is rounded. A wait may end after its parent.
            let within = |child: &Span| child.is_wait() || end(child) <= end(span) + 1;
            span.children.iter().all(within) && is_within(&span.children)
        })
    }

    proptest! {
        #[test]
        fn every_event_is_in_the_tree_once(
            spans in proptest::collection::vec((0..12_u64, 0..12_u64, 0..10_000_u64, 0..5_000_u64), 1..40)
        ) {
            let types = EventType::KNOWN;
            let events: Vec<StoredEvent> = spans
                .iter()
                .enumerate()
                .map(|(place, (span, parent, end, took))| {
                    event(types[place % types.len()].clone(), *span, *parent, *end, *took)
                })
                .collect();
            let number = events.len();
            let tree = SpanTree::of(events).unwrap();
            prop_assert_eq!(count(&tree.spans), number);
            prop_assert!(is_within(&tree.spans));
        }
    }
}
