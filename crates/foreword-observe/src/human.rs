//! An event as a person at a terminal reads it: time, level, what happened, to whom. One line, nothing on it that a terminal
//! would obey.

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
/// The longest text of an event, and the longest value of one of its fields.
const LONGEST: usize = 300;
const LONGEST_VALUE: usize = 80;
/// How many fields are shown of an event that has no words of its own.
const MOST_FIELDS: usize = 6;

/// How lines for people are written.
#[derive(Debug, Clone)]
pub struct Human {
    /// Where the clock on the wall stands.
    pub zone: TimeZone,
    /// Whether there are colours.
    pub colour: bool,
}

impl Human {
    /// The event as one line, its end included.
    #[must_use]
    pub fn event(&self, event: &Redacted) -> String {
        let event = event.event();
        let what = event.event_type.line_name();
        self.line(
            (event.timestamp, event.level),
            &display_line(what, LONGEST_VALUE),
            &words(event),
            &names(event),
        )
    }

    /// A line of a library, out of its JSON.
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
        let said = display_line(text("message"), LONGEST);
        let said =
            [said, listed(rest)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        self.line((at, level), &display_line(text("module"), LONGEST_VALUE), &said, &names.join("/"))
    }

    fn line(&self, (at, level): (Timestamp, Level), what: &str, words: &str, names: &str) -> String {
        let time = jiff::Timestamp::from(at).to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string();
        let level_word = self.styled(style(level), &format!("{:<5}", level.as_str()));
        let mut line = format!("{} {level_word} {}", self.styled(DIM, &time), self.styled(BOLD, what));
        for (part, gap) in [(words, " "), (names, "  ")] {
            if !part.is_empty() {
                line.push_str(gap);
                line.push_str(&if gap == " " { part.to_owned() } else { self.styled(DIM, part) });
            }
        }
        line.push('\n');
        line
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

fn style(level: Level) -> Style {
    match level {
        Level::Debug => DIM,
        Level::Info => AnsiColor::Green.on_default(),
        Level::Warn => AnsiColor::Yellow.on_default().bold(),
        Level::Error => AnsiColor::Red.on_default().bold(),
    }
}

/// Conversation and turn. Long ids differ at their ends.
fn names(event: &Event) -> String {
    let session = event.session_id.as_ref().map(|id| short(id.as_str()));
    let turn = event.turn_id.as_ref().map(|id| short(id.as_str()));
    [session, turn].into_iter().flatten().collect::<Vec<_>>().join("/")
}

fn short(id: &str) -> String {
    let id = display_line(id, LONGEST_VALUE);
    let count = id.chars().count();
    if count <= 24 { id } else { format!("…{}", id.chars().skip(count - 8).collect::<String>()) }
}

/// What is to be said about an event.
fn words(event: &Event) -> String {
    let none = Map::new();
    let own = event.metadata.as_ref().and_then(Value::as_object).unwrap_or(&none);
    let text = |name: &str| own.get(name).map(shown).filter(|text| !text.is_empty());
    let took = event.duration_ms.map(seconds);
    let error = event.error.as_ref().map(|error| display_line(error, LONGEST));
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
        _ => vec![Some(listed(own.iter())), took, error],
    };
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Fields as `name=value`, the plain ones.
fn listed<'v>(fields: impl Iterator<Item = (&'v String, &'v Value)>) -> String {
    let mut out = String::new();
    let plain = fields.filter(|(_, value)| !value.is_null() && !value.is_object());
    for (name, value) in plain.take(MOST_FIELDS) {
        let gap = if out.is_empty() { "" } else { " " };
        // Nothing can go wrong in writing to a text.
        let _ = write!(out, "{gap}{}={}", display_line(name, LONGEST_VALUE), shown(value));
    }
    out
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null | Value::Object(_) => String::new(),
        Value::String(text) => display_line(text, LONGEST_VALUE),
        Value::Array(items) if items.iter().any(Value::is_object) => items.len().to_string(),
        Value::Array(items) => {
            display_line(&items.iter().map(shown).collect::<Vec<_>>().join(", "), LONGEST_VALUE)
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
