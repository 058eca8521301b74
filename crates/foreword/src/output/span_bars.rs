//! Draws a tree of spans: one line each with its parent, start, duration and details.

use anstyle::Style;
use foreword_core::event::{Event, EventType, Level};
use foreword_core::money::Money;
use foreword_core::span_tree::{Span, SpanTree};
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::display_line;
use serde_json::Value;

use super::{BLUE, CYAN, DIM, MAGENTA, RED, YELLOW, styled};

/// The minimum and maximum width of a bar.
const BARS: (usize, usize) = (16, 48);
/// The maximum lengths of a name and of an error.
const NAME_CHARS: usize = 60;
const ERROR_CHARS: usize = 200;
/// The maximum number of metadata values.
const MAX_VALUES: usize = 8;
/// Metadata keys that are not shown: uninformative, or shown elsewhere on the line.
const OMITTED_KEYS: [&str; 8] =
    ["provider", "delayMs", "totalTokens", "call", "isError", "requestId", "estimatedTokens", "messageCount"];

/// The lines of a tree, truncated to `width`.
pub(crate) fn draw(tree: &SpanTree, width: Option<usize>) -> Vec<String> {
    let mut rows = Vec::new();
    collect(&tree.spans, "", true, &mut rows);
    let names = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let bars = (width.unwrap_or(100) / 3).clamp(BARS.0, BARS.1);
    rows.iter().map(|row| row.line(names, bars, tree.duration_ms, width)).collect()
}

struct Row<'a> {
    name: String,
    span: &'a Span,
}

fn collect<'a>(spans: &'a [Span], above: &str, is_top: bool, rows: &mut Vec<Row<'a>>) {
    for (place, span) in spans.iter().enumerate() {
        let is_last = place + 1 == spans.len();
        let (branch, below) = match (is_top, is_last) {
            (true, _) => ("", ""),
            (false, true) => ("└─ ", "   "),
            (false, false) => ("├─ ", "│  "),
        };
        rows.push(Row { name: format!("{above}{branch}{}", display_line(&span.name, NAME_CHARS)), span });
        collect(&span.children, &format!("{above}{below}"), false, rows);
    }
}

impl Row<'_> {
    fn line(&self, names: usize, bars: usize, whole_ms: u64, width: Option<usize>) -> String {
        let (style, bar) = (style(self.span), bar(self.span, whole_ms, bars));
        let took = duration(self.span.duration_ms);
        let room = width.map(|width| width.saturating_sub(names + bars + 9 + 6));
        let details = details(self.span);
        let details = match room {
            Some(room) if details.chars().count() > room => {
                format!("{}…", details.chars().take(room.saturating_sub(1)).collect::<String>())
            }
            _ => details,
        };
        let name = format!("{}{}", self.name, " ".repeat(names - self.name.chars().count().min(names)));
        format!("{name}  {}  {took:>9}  {details}", styled(style, bar)).trim_end().to_owned()
    }
}

fn worst(span: &Span) -> Option<Level> {
    span.events.iter().map(|stored| stored.event.level).max()
}

fn style(span: &Span) -> Style {
    match (worst(span), span.events.first().map(|stored| &stored.event.event_type)) {
        (None, _) => DIM,
        (Some(Level::Error), _) => RED,
        (Some(Level::Warn), _) => YELLOW,
        (_, Some(EventType::ApiCall)) => BLUE,
        (_, Some(EventType::ToolCall)) => MAGENTA,
        _ => CYAN,
    }
}

/// A bar at the span's position on a line of `columns`.
fn bar(span: &Span, whole_ms: u64, columns: usize) -> String {
    let whole = whole_ms.max(1) as f64;
    let at = |ms: u64| ((ms as f64 / whole) * columns as f64).round() as usize;
    let start = at(span.offset_ms).min(columns.saturating_sub(1));
    let length = at(span.offset_ms.saturating_add(span.duration_ms)).min(columns).saturating_sub(start);
    let piece = match (span.is_wait(), length) {
        (true, _) => "┄".repeat(length.max(1)),
        // Shorter than one column.
        (false, 0) => "╸".to_owned(),
        (false, length) => "━".repeat(length),
    };
    let behind = columns.saturating_sub(start + piece.chars().count());
    format!("{}{piece}{}", " ".repeat(start), " ".repeat(behind))
}

/// A human-readable duration.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=59_999 => format!("{:.2} s", ms as f64 / 1_000.0),
        _ => format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// A span's token counts, cost, metadata and errors.
fn details(span: &Span) -> String {
    let Some(last) = span.events.last() else { return String::new() };
    let mut pieces = amounts(&last.event);
    for stored in &span.events {
        pieces.extend(values(&stored.event).filter(|value| !pieces.contains(value)).collect::<Vec<_>>());
    }
    let errors = span.events.iter().filter_map(|stored| stored.event.error.as_deref());
    pieces.extend(errors.map(|error| display_line(error, ERROR_CHARS)));
    pieces.join(", ")
}

fn amounts(event: &Event) -> Vec<String> {
    let number = |number: u64| with_thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let mut out = Vec::new();
    if let Some(tokens) = event.tokens_in {
        let cached = event.cache_read_tokens.filter(|read| *read > 0);
        let cached = cached.map(|read| format!(" ({} cached)", number(read))).unwrap_or_default();
        out.push(format!("{} in{cached}", number(tokens)));
    }
    out.extend(event.tokens_out.map(|tokens| format!("{} out", number(tokens))));
    out.extend(event.cost_usd.map(|usd| Money::from_dollars(usd).to_string()));
    out
}

/// The metadata: scalars as they are, lists as their lengths.
fn values(event: &Event) -> impl Iterator<Item = String> {
    let metadata = event.metadata.as_ref().and_then(Value::as_object).into_iter().flatten();
    let said = metadata.filter(|(name, _)| !OMITTED_KEYS.contains(&name.as_str()));
    let value = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Null | Value::Object(_) | Value::Bool(false) => return None,
            Value::Array(items) => items.len().to_string(),
            Value::String(text) => display_line(text, NAME_CHARS),
            Value::Bool(true) | Value::Number(_) => value.to_string(),
        };
        Some(format!("{}={value}", display_line(name, NAME_CHARS)))
    };
    said.filter_map(value).take(MAX_VALUES)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use foreword_core::event::{SpanId, StoredEvent};
    use serde_json::json;

    use super::*;

    fn event(event_type: EventType, span: u64, parent: u64, end: u64, took: u64) -> Event {
        let start: foreword_core::timestamp::Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        Event {
            span_id: SpanId::new(span),
            parent_span_id: SpanId::new(parent),
            duration_ms: Some(took),
            ..Event::new(event_type, start.plus(Duration::from_millis(end)))
        }
    }

    /// A message whose turn retries its first call.
    fn tree() -> SpanTree {
        let failed = Event {
            level: Level::Warn,
            error: Some("anthropic: 429 too many requests".to_owned()),
            metadata: Some(json!({ "provider": "anthropic", "statusCode": 429, "delayMs": 1_000 })),
            ..event(EventType::ApiError, 5, 4, 150, 120)
        };
        let called = Event {
            tokens_in: Some(5_200),
            tokens_out: Some(310),
            cache_read_tokens: Some(4_800),
            cost_usd: Some(0.0123),
            metadata: Some(json!({ "model": "anthropic/claude-haiku-4-5", "estimatedTokens": null })),
            ..event(EventType::ApiCall, 6, 4, 3_150, 2_000)
        };
        let tool = Event {
            metadata: Some(json!({ "tool": "bash", "call": "call-1", "isError": false })),
            ..event(EventType::ToolCall, 7, 4, 3_400, 240)
        };
        let layers = Some(json!({ "layers": [1, 2, 3], "tokens": 4_200 }));
        let events = [
            event(EventType::MessageReceived, 1, 0, 0, 0),
            Event { metadata: layers, ..event(EventType::PromptBuilt, 2, 1, 25, 20) },
            event(EventType::TurnStarted, 4, 1, 30, 0),
            failed,
            called,
            tool,
            Event {
                metadata: Some(json!({ "outcome": "done" })),
                ..event(EventType::TurnCompleted, 4, 1, 4_000, 3_970)
            },
        ];
        let stored = (1..).zip(events).map(|(id, event)| StoredEvent { id, event });
        SpanTree::of(stored.collect()).unwrap()
    }

    fn drawn(width: Option<usize>) -> String {
        let lines = draw(&tree(), width).join("\n");
        anstream::adapter::strip_str(&lines).to_string()
    }

    #[test]
    fn tree_shows_timing_and_details() {
        insta::assert_snapshot!(drawn(None));
    }

    #[test]
    fn lines_are_truncated_to_the_width() {
        for width in [60, 80, 100, 160] {
            let drawn = drawn(Some(width));
            assert!(drawn.lines().all(|line| line.chars().count() <= width), "{width}\n{drawn}");
            assert_eq!(drawn.lines().count(), 7);
        }
    }

    #[test]
    fn durations_are_human_readable() {
        let said = [0, 999, 1_000, 4_210, 59_999, 123_000].map(duration);
        assert_eq!(said, ["0 ms", "999 ms", "1.00 s", "4.21 s", "60.00 s", "2 min 03 s"]);
    }
}
