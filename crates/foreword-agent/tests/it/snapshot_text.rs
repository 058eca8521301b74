//! Renders the feed and the log of a turn for snapshots, without times, ids and random values.

use std::fmt::Write as _;

use foreword_agent::conversation::feed::Progress;
use foreword_core::event::{EventType, StoredEvent};
use serde_json::Value;

use crate::fixture::Seen;

/// The feed, one line per item; streamed text is joined.
pub(crate) fn feed_text(seen: &Seen) -> String {
    let (mut text, mut words) = (String::new(), String::new());
    for item in &seen.progress {
        if let Progress::Text(more) = &**item {
            words.push_str(more);
            continue;
        }
        if !words.is_empty() {
            let _ = writeln!(text, "says     {}", std::mem::take(&mut words));
        }
        let _ = match &**item {
            Progress::TurnStarted { user, trust, .. } => {
                writeln!(
                    text,
                    "begins   for {} at {}",
                    user.as_deref().unwrap_or("a stranger"),
                    trust.as_str()
                )
            }
            Progress::ToolCall { tool, arguments, .. } => writeln!(text, "calls    {tool} {arguments}"),
            Progress::ToolResult { tool, is_error: true, content, .. } => {
                writeln!(text, "failed   {tool}: {content}")
            }
            Progress::ToolResult { tool, .. } => writeln!(text, "result   of {tool}"),
            Progress::Status(status) => writeln!(text, "status   {status}"),
            Progress::Question(question) => {
                writeln!(text, "asks     {} {:?}: {}", question.tool, question.arguments, question.because)
            }
            Progress::Compacted => writeln!(text, "compacted"),
            Progress::Problem(cause) => writeln!(text, "problem  {}", cause.for_record()),
            Progress::TurnLeft { reason, .. } => writeln!(text, "left     {}", reason.for_record()),
            Progress::TurnInterrupted { reason, .. } => writeln!(text, "left     {reason}"),
            Progress::TurnEnded { outcome, failure: None, .. } => writeln!(text, "ends     {outcome:?}"),
            Progress::TurnEnded { outcome, failure: Some(failure), .. } => {
                writeln!(text, "ends     {outcome:?}, {}: {}", failure.code, failure.detail.for_record())
            }
            Progress::Text(_) => Ok(()),
        };
    }
    text
}

/// The log, one line per event, with error and reason.
pub(crate) fn logged(events: &[StoredEvent]) -> String {
    let mut text = String::new();
    for StoredEvent { event, .. } in events {
        let _ = write!(text, "{:<5} {}", event.level.as_str(), event.event_type);
        for field in
            ["provider", "statusCode", "kind", "retryAttempt", "retryAfterMs", "queued", "tool", "reason"]
        {
            match event.metadata.as_ref().map(|metadata| &metadata[field]) {
                None | Some(Value::Null) => {}
                // Delays contain random jitter.
                Some(_) if event.event_type == EventType::ProviderRateLimit && field == "retryAfterMs" => {
                    text.push_str(" retryAfterMs=…");
                }
                Some(value) => drop(write!(text, " {field}={value}")),
            }
        }
        if event.metadata.as_ref().is_some_and(|metadata| metadata["delayMs"].is_u64()) {
            text.push_str(" delayMs=…");
        }
        let _ =
            writeln!(text, "{}", event.error.as_ref().map(|error| format!(" — {error}")).unwrap_or_default());
    }
    text
}
