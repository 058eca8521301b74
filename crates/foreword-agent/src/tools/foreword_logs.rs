//! `foreword_logs`: searches the event log. Whoever is no owner finds what happened in this conversation and nothing
//! else, not even a number.

use foreword_core::event::{EventType, Level};
use foreword_core::since::{BadSince, since};
use foreword_prompt::untrusted::single_line;
use foreword_store::events::EventFilter;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::event_line::{event_line, has_free_text, moment};
use super::given::Given;
use super::limits::{OutputLimits, counted, fitting, truncated};
use crate::error::store_error_at;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};
use crate::viewer::Viewer;

const NAME: &str = "foreword_logs";
/// How many events are given if nobody says how many.
const USUAL: u64 = 50;
/// How many events are given at most.
const MOST: u64 = 200;

/// Searches the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForewordLogs {
    limits: OutputLimits,
}

impl ForewordLogs {
    /// The tool, with these limits.
    #[must_use]
    pub fn new(limits: OutputLimits) -> Self {
        Self { limits }
    }
}

impl Tool for ForewordLogs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn has_side_effects(&self) -> bool {
        false
    }

    fn reads_the_log(&self) -> bool {
        true
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        let limits = self.limits;
        Box::pin(async move {
            match search(&Given::new(arguments), &call, limits).await {
                Ok(output) | Err(output) => output,
            }
        })
    }
}

async fn search(given: &Given, call: &ToolCall, limits: OutputLimits) -> Result<ToolOutput, ToolOutput> {
    let limit = given.optional_number("limit", 1)?.unwrap_or(USUAL).min(MOST);
    let Some(filter) = filter(given, call)? else { return Ok(nothing(given)) };
    let events = Viewer::from(call).newest(filter, usize::try_from(limit).unwrap_or(usize::MAX)).await;
    let events = events.map_err(|error| {
        ToolOutput::failed(format!("the log can't be read: {}", store_error_at(&error, call.trust)))
    })?;
    if events.is_empty() {
        return Ok(nothing(given));
    }
    let lines: Vec<String> =
        events.iter().map(|event| format!("{} {}", moment(event.timestamp), event_line(event))).collect();
    let whole: usize = lines.iter().map(|line| line.len() + 1).sum();
    let (text, left_out) = fitting(lines.into_iter(), limits);
    let mut output = ToolOutput::ours(format!(
        "{}, the newest first, times in UTC:\n{text}",
        counted(events.len(), "event")
    ));
    if left_out > 0 {
        let oldest =
            events.get(events.len() - left_out).map(|event| moment(event.timestamp)).unwrap_or_default();
        output.text.push_str(&format!(
            "[{} left out, from {oldest} back; ask for less: another event_type, level, or a smaller limit]\n",
            counted(left_out, "older event")
        ));
        output.events.push(truncated(call, NAME, whole, text.len()));
    }
    output.from_outside = events.iter().any(has_free_text);
    Ok(output)
}

/// What to look for; `None` if there can't be any such event.
fn filter(given: &Given, call: &ToolCall) -> Result<Option<EventFilter>, ToolOutput> {
    let text = |name: &str| given.optional_text(name).map(str::trim).filter(|text| !text.is_empty());
    let mut filter = EventFilter::default();
    if let Some(session) = text("session_id") {
        let Ok(session) = session.parse() else { return Ok(None) };
        filter.session = Some(session);
    }
    if let Some(level) = text("level") {
        let least: Level = level.parse().map_err(|_| {
            ToolOutput::failed(format!(
                "`{}` is no level: use debug, info, warn or error",
                single_line(level, 40)
            ))
        })?;
        filter.levels = Level::ALL.into_iter().filter(|level| *level >= least).collect();
    }
    filter.event_type = text("event_type").map(|word| EventType::from(word.to_owned()));
    filter.user = text("user").map(str::to_owned);
    if let Some(when) = text("since") {
        let now = jiff::Timestamp::from(call.now).to_zoned(TimeZone::UTC);
        let refused = |bad: BadSince| BadSince { text: single_line(&bad.text, 40) }.to_string();
        filter.since = Some(since(when, &now).map_err(|bad| ToolOutput::failed(refused(bad)))?);
    }
    Ok(Some(filter))
}

/// The same answer whether there is nothing or nothing that may be seen.
fn nothing(given: &Given) -> ToolOutput {
    let word = given.optional_text("event_type").map(|word| EventType::from(word.trim().to_owned()));
    match word {
        Some(EventType::Other(word)) if !word.is_empty() => {
            let known: Vec<&str> = EventType::KNOWN.iter().map(EventType::as_str).collect();
            let word = single_line(&word, 80);
            ToolOutput::ours(format!(
                "no event found. `{word}` is no type I know; there are {}",
                known.join(", ")
            ))
        }
        _ => ToolOutput::ours("no event found"),
    }
}
