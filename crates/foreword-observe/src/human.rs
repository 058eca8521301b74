//! Formats events for a terminal: time, level, event, conversation and turn. One line, without control characters.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use foreword_core::event::{Event, EventType, Level};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::display_line;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::redact::Redacted;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
/// The maximum length of an event's text, and of the value of a field, in characters.
const MAX_TEXT_CHARS: usize = 300;
const MAX_VALUE_LEN: usize = 80;
/// The maximum number of fields shown for an event without a text of its own.
const MAX_FIELDS: usize = 6;

/// The human-readable line format.
#[derive(Debug, Clone)]
pub struct Human {
    /// The time zone of timestamps.
    pub zone: TimeZone,
    /// Whether to use ANSI colours.
    pub colour: bool,
}

impl Human {
    /// The event as one line, with its line end.
    #[must_use]
    pub fn event(&self, event: &Redacted) -> String {
        let event = event.event();
        let what = event.event_type.line_name();
        self.line(&Line {
            at: event.timestamp,
            level: event.level,
            what: display_line(what, MAX_VALUE_LEN),
            text: describe(event),
            ids: ids(event),
        })
    }

    /// A library's JSON line in human-readable form.
    pub(crate) fn library(&self, json: &str) -> String {
        let fields: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let at = text("ts").parse().unwrap_or_else(|_| Timestamp::from_micros(0));
        let level = text("level").parse().unwrap_or(Level::Warn);
        let names: Vec<String> = ["sessionId", "turnId"]
            .map(text)
            .iter()
            .filter(|id| !id.is_empty())
            .map(|id| short(id))
            .collect();
        let known = [
            "ts",
            "level",
            "module",
            "event",
            "message",
            "sessionId",
            "userId",
            "channel",
            "turnId",
            "traceId",
            "spanId",
        ];
        let rest = fields.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let message = display_line(text("message"), MAX_TEXT_CHARS);
        let line_text = [message, format_fields(rest)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        let what = display_line(text("module"), MAX_VALUE_LEN);
        self.line(&Line { at, level, what, text: line_text, ids: names.join("/") })
    }

    fn line(&self, Line { at, level, what, text, ids }: &Line) -> String {
        let time = jiff::Timestamp::from(*at).to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string();
        let level_word = self.styled(style(*level), &format!("{:<5}", level.as_str()));
        let mut line = format!("{} {level_word} {}", self.styled(DIM, &time), self.styled(BOLD, what));
        for (part, gap) in [(text, " "), (ids, "  ")] {
            if !part.is_empty() {
                line.push_str(gap);
                line.push_str(&if gap == " " { part.clone() } else { self.styled(DIM, part) });
            }
        }
        line.push('\n');
        line
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// The parts of a line.
struct Line {
    at: Timestamp,
    level: Level,
    /// The event type, or the module of a library.
    what: String,
    text: String,
    /// Conversation and turn.
    ids: String,
}

fn style(level: Level) -> Style {
    match level {
        Level::Debug => DIM,
        Level::Info => AnsiColor::Green.on_default(),
        Level::Warn => AnsiColor::Yellow.on_default().bold(),
        Level::Error => AnsiColor::Red.on_default().bold(),
    }
}

/// Conversation and turn. Long ids are shortened at the start, since they differ at the end.
fn ids(event: &Event) -> String {
    let session = event.session_id.as_ref().map(|id| short(id.as_str()));
    let turn = event.turn_id.as_ref().map(|id| short(id.as_str()));
    [session, turn].into_iter().flatten().collect::<Vec<_>>().join("/")
}

fn short(id: &str) -> String {
    let id = display_line(id, MAX_VALUE_LEN);
    let count = id.chars().count();
    if count <= 24 { id } else { format!("…{}", id.chars().skip(count - 8).collect::<String>()) }
}

/// The description of an event.
fn describe(event: &Event) -> String {
    let none = Map::new();
    let own = event.metadata.as_ref().and_then(Value::as_object).unwrap_or(&none);
    let text = |name: &str| own.get(name).map(format_value).filter(|text| !text.is_empty());
    let took = event.duration_ms.map(seconds);
    let error = event.error.as_ref().map(|error| display_line(error, MAX_TEXT_CHARS));
    let parts: Vec<Option<String>> = match event.event_type {
        EventType::TurnStarted => {
            vec![text("model"), text("messageCount").map(|count| format!("with {count} messages"))]
        }
        EventType::TurnCompleted => {
            let tools =
                text("toolCallCount").filter(|count| count != "0").map(|count| format!("{count} tools"));
            vec![text("outcome"), took, tokens(event), cost(event), tools, error]
        }
        EventType::ApiCall => vec![text("model"), took, tokens(event), cost(event)],
        EventType::ApiError => {
            let retry = text("delayMs").and_then(|delay| delay.parse().ok()).map(|delay| {
                let attempt =
                    text("retryAttempt").and_then(|attempt| attempt.parse::<u64>().ok()).unwrap_or(0);
                format!("retry {} in {}", attempt + 1, seconds(delay))
            });
            let error = [text("statusCode"), error].into_iter().flatten().collect::<Vec<_>>().join(" ");
            let head = [text("provider"), Some(error)].into_iter().flatten().collect::<Vec<_>>().join(" ");
            return [Some(head), retry].into_iter().flatten().collect::<Vec<_>>().join(", ");
        }
        EventType::ToolCall => {
            let failed = own.get("isError").and_then(Value::as_bool).unwrap_or(false);
            vec![text("tool"), took, failed.then(|| "failed".to_owned())]
        }
        EventType::ToolError => vec![text("tool"), error],
        EventType::ToolBlocked => vec![text("tool"), text("reason")],
        EventType::ScheduleFired | EventType::ScheduleEnded | EventType::ScheduleError => {
            vec![text("jobId"), text("status"), took, error, text("note")]
        }
        EventType::ConfigReloaded => {
            let refused = text("refused").map(|_| "refused, the old one stays in force:".to_owned());
            vec![text("changedSections"), refused, error]
        }
        _ => vec![Some(format_fields(own.iter())), took, error],
    };
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Scalar fields as `name=value`.
fn format_fields<'v>(fields: impl Iterator<Item = (&'v String, &'v Value)>) -> String {
    let mut out = String::new();
    let plain = fields.filter(|(_, value)| !value.is_null() && !value.is_object());
    for (name, value) in plain.take(MAX_FIELDS) {
        let gap = if out.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(out, "{gap}{}={}", display_line(name, MAX_VALUE_LEN), format_value(value));
    }
    out
}

fn format_value(value: &Value) -> String {
    match value {
        Value::Null | Value::Object(_) => String::new(),
        Value::String(text) => display_line(text, MAX_VALUE_LEN),
        Value::Array(items) if items.iter().any(Value::is_object) => items.len().to_string(),
        Value::Array(items) => {
            display_line(&items.iter().map(format_value).collect::<Vec<_>>().join(", "), MAX_VALUE_LEN)
        }
        other => other.to_string(),
    }
}

fn seconds(millis: u64) -> String {
    if millis < 1_000 {
        return format!("{millis} ms");
    }
    format!("{}.{} s", millis / 1_000, millis % 1_000 / 100)
}

fn tokens(event: &Event) -> Option<String> {
    let number =
        |count: Option<u64>| with_thousands(usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX));
    (event.tokens_in.is_some() || event.tokens_out.is_some())
        .then(|| format!("{} tokens in, {} out", number(event.tokens_in), number(event.tokens_out)))
}

fn cost(event: &Event) -> Option<String> {
    event.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!("${cost:.4}"))
}
