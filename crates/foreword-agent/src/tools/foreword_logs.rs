//! `foreword_logs`: searches the event log. A viewer other than the owner sees only events of this conversation.

use foreword_core::event::{EventType, Level};
use foreword_core::since::{BadSince, since};
use foreword_prompt::untrusted::single_line;
use foreword_store::events::EventFilter;
use jiff::tz::TimeZone;

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use super::event_line::{event_line, has_free_text, moment};
use super::limits::{OutputLimits, counted, fitting, truncated};
use crate::error::store_error_at;
use crate::reports::viewer::Viewer;
use crate::tool::{ToolCall, ToolOutput};

const NAME: &str = "foreword_logs";
/// The default number of events.
const DEFAULT_LIMIT: u64 = 50;
/// The maximum number of events.
const MAX_LIMIT: u64 = 200;

/// The tool `foreword_logs`, with these limits.
pub(super) fn tool(limits: OutputLimits) -> BuiltinTool {
    let run = move |arguments, call| async move { search(&arguments, &call, limits).await };
    BuiltinTool::new(NAME, run).that_reads_the_log()
}

async fn search(
    arguments: &Arguments,
    call: &ToolCall,
    limits: OutputLimits,
) -> Result<ToolOutput, ToolOutput> {
    let limit = arguments.optional_number("limit", 1)?.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let Some(filter) = filter(arguments, call)? else { return Ok(nothing(arguments)) };
    let events = Viewer::from(call).newest(filter, usize::try_from(limit).unwrap_or(usize::MAX)).await;
    let events = events.map_err(|error| {
        ToolOutput::failed(format!("the log can't be read: {}", store_error_at(&error, call.trust)))
    })?;
    if events.is_empty() {
        return Ok(nothing(arguments));
    }
    let lines: Vec<String> =
        events.iter().map(|event| format!("{} {}", moment(event.timestamp), event_line(event))).collect();
    let whole: usize = lines.iter().map(|line| line.len() + 1).sum();
    let (text, left_out) = fitting(lines.into_iter(), limits);
    let mut output = ToolOutput::trusted(format!(
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

/// The filter; `None` if no event can match.
fn filter(arguments: &Arguments, call: &ToolCall) -> Result<Option<EventFilter>, ToolOutput> {
    let text = |name: &str| arguments.optional_text(name).map(str::trim).filter(|text| !text.is_empty());
    let mut filter = EventFilter::default();
    if let Some(session) = text("session_id") {
        let Ok(session) = session.parse() else { return Ok(None) };
        filter.session = Some(session);
    }
    if let Some(level) = text("level") {
        let least: Level = level.parse().map_err(|_| {
            ToolOutput::failed(format!(
                "`{}` is not a valid level: use debug, info, warn or error",
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

/// The same answer whether no event exists or none is visible.
fn nothing(arguments: &Arguments) -> ToolOutput {
    let word = arguments.optional_text("event_type").map(|word| EventType::from(word.trim().to_owned()));
    match word {
        Some(EventType::Other(word)) if !word.is_empty() => {
            let known: Vec<&str> = EventType::KNOWN.iter().map(EventType::as_str).collect();
            let word = single_line(&word, 80);
            ToolOutput::trusted(format!(
                "no event found. `{word}` is not a known type; there are {}",
                known.join(", ")
            ))
        }
        _ => ToolOutput::trusted("no event found"),
    }
}
