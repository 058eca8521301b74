//! `foreword_trace`: one turn step by step, from its journal and events, as an indented tree; or one proxied request,
//! from its events. A turn of another conversation, or at a higher trust, is reported as missing. Contains no message
//! text.

use std::collections::BTreeMap;

use foreword_core::event::{Event, Level, StoredEvent};
use foreword_core::id::CallId;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::span_tree::{Span, SpanTree};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::JournalStep;
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::turns::RecordedStep;

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use super::event_line::{details, has_free_text, moment};
use super::limits::{OutputLimits, counted, limited};
use crate::error::store_error_at;
use crate::reports::request_trace::RequestTrace;
use crate::reports::turn_trace::{TurnFound, TurnTrace};
use crate::reports::viewer::Viewer;
use crate::tool::{ToolCall, ToolOutput};

const NAME: &str = "foreword_trace";
/// The maximum length of a name.
const NAME_CHARS: usize = 120;
/// The maximum depth of nested events.
const MAX_DEPTH: usize = 12;

/// The tool `foreword_trace`, with these limits.
pub(super) fn tool(limits: OutputLimits) -> BuiltinTool {
    let run = move |arguments, call| async move { trace(&arguments, &call, limits).await };
    BuiltinTool::new(NAME, run).that_reads_the_log()
}

async fn trace(
    arguments: &Arguments,
    call: &ToolCall,
    limits: OutputLimits,
) -> Result<ToolOutput, ToolOutput> {
    let asked = arguments.text("turn")?;
    let none = || {
        let shown = single_line(asked, NAME_CHARS);
        ToolOutput::failed(format!(
            "there is no turn `{shown}`: take an id that foreword_logs shows behind `turn=`"
        ))
    };
    let found = TurnTrace::with_id(&Viewer::from(call), asked.trim()).await;
    let found = found.map_err(|error| {
        ToolOutput::failed(format!("the turn can't be read: {}", store_error_at(&error, call.trust)))
    })?;
    let (lines, from_outside) = match found {
        TurnFound::One(trace) => {
            let mut lines = head(&trace, call.trust);
            lines.extend(step_lines(&trace.steps, trace.turn.started_at));
            lines.extend(span_lines(trace.tree().as_ref()));
            (lines, trace.turn.failure.is_some() || any_free_text(&trace.events))
        }
        TurnFound::Request(request) => {
            let mut lines = request_head(&request, call.trust);
            lines.extend(span_lines(request.tree().as_ref()));
            (lines, request.error().is_some() || any_free_text(&request.events))
        }
        TurnFound::None | TurnFound::Several { .. } => return Err(none()),
    };
    let mut output = limited(lines, call, NAME, limits);
    output.from_outside = from_outside;
    Ok(output)
}

fn any_free_text(events: &[StoredEvent]) -> bool {
    events.iter().any(|stored| has_free_text(&stored.event))
}

/// A summary of a proxied request.
fn request_head(request: &RequestTrace, trust: Trust) -> Vec<String> {
    let name = |name: &str| single_line(name, NAME_CHARS);
    let conversation = request.conversation.as_ref();
    let conversation = conversation.map(|id| format!(" of conversation `{}`", name(id.as_str())));
    let totals = request.totals();
    let mut lines = vec![
        format!(
            "proxied request `{}`{}: {}",
            name(&request.request),
            conversation.unwrap_or_default(),
            request.state()
        ),
        format!("began {}, {}, cost {}", moment(request.started_at), amounts(totals.usage), totals.cost),
    ];
    // An error may contain the provider's URL, so only the owner sees it.
    let error = request.error().filter(|_| trust.permits(Trust::Full));
    lines.extend(error.map(|error| format!("error: {}", single_line(error, 300))));
    lines
}

/// A summary of the turn.
fn head(trace: &TurnTrace, trust: Trust) -> Vec<String> {
    let turn = &trace.turn;
    let name = |name: &str| single_line(name, NAME_CHARS);
    let attempts = counted(turn.attempts as usize, "attempt");
    let mut lines = vec![format!(
        "turn `{}` of conversation `{}`: {}, at `{}` trust, on node `{}`, {attempts}",
        name(turn.id.as_str()),
        name(turn.conversation.as_str()),
        turn.state,
        turn.trust,
        name(turn.holder.as_str()),
    )];
    let took = turn
        .ended_at
        .map_or_else(|| "not ended".to_owned(), |end| format!("took {}", after(turn.started_at, end)));
    lines.push(format!("began {}, {took}", moment(turn.started_at)));
    let totals = trace.totals();
    lines.push(format!(
        "{}, {}, {}, cost {}",
        counted(totals.calls, "answered model call"),
        counted(totals.failed, "failed call"),
        amounts(totals.usage),
        totals.cost
    ));
    if let Some(failure) = &turn.failure {
        let shown = failure.visible_at(trust, turn.id.as_str());
        lines.push(format!("error: {}: {}", shown.code, single_line(&shown.message, 300)));
    }
    lines
}

fn amounts(usage: Usage) -> String {
    let number = |number: u64| with_thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let read = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let mut cached = Vec::new();
    cached.extend((usage.cache_read > 0).then(|| format!("{} from cache", number(usage.cache_read))));
    cached.extend((usage.cache_write > 0).then(|| format!("{} to cache", number(usage.cache_write))));
    let cached = if cached.is_empty() { String::new() } else { format!(" ({})", cached.join(", ")) };
    format!("{} tokens in{cached}, {} out", number(read), number(usage.output))
}

fn after(start: Timestamp, at: Timestamp) -> String {
    milliseconds(u64::try_from(at.since(start).as_millis()).unwrap_or(u64::MAX))
}

fn milliseconds(millis: u64) -> String {
    format!("{} ms", with_thousands(usize::try_from(millis).unwrap_or(usize::MAX)))
}

fn step_lines(steps: &[RecordedStep], start: Timestamp) -> Vec<String> {
    let mut tools: BTreeMap<&CallId, (&str, Timestamp)> = BTreeMap::new();
    let mut lines = vec!["steps".to_owned()];
    for recorded in steps {
        let at = after(start, recorded.at);
        let indent = match &recorded.step {
            JournalStep::ToolStarted { .. } => "    ",
            JournalStep::ToolFinished(_) => "      ",
            _ => "  ",
        };
        let what = match &recorded.step {
            JournalStep::Accepted { messages } => format!("accepted {}", counted(messages.len(), "message")),
            JournalStep::PromptBuilt(prompt) => {
                let print = prompt.fingerprint.to_string();
                let print = print.rsplit(':').next().unwrap_or(&print);
                let layers: Vec<String> = prompt
                    .layer_versions
                    .iter()
                    .map(|(layer, version)| format!("{layer} at {version}"))
                    .collect();
                let layers =
                    if layers.is_empty() { String::new() } else { format!(", layers {}", layers.join(", ")) };
                format!(
                    "prompt of epoch {}, fingerprint {}{layers}",
                    prompt.epoch,
                    print.get(..12).unwrap_or(print)
                )
            }
            JournalStep::Call { model, content, usage } => {
                format!("model {}: {}{}", single_line(model, NAME_CHARS), amounts(*usage), wanted(content))
            }
            JournalStep::ToolStarted { call, tool, side_effects } => {
                tools.insert(call, (tool, recorded.at));
                let changes = if *side_effects { ", changes something" } else { "" };
                format!(
                    "tool {} (`{}`){changes}",
                    single_line(tool, NAME_CHARS),
                    single_line(call.as_str(), NAME_CHARS)
                )
            }
            JournalStep::ToolFinished(result) => {
                let how = if result.is_error { "failed" } else { "finished" };
                let took = tools
                    .get(&result.call)
                    .map(|(_, begun)| format!(" after {}", after(*begun, recorded.at)));
                let size = counted(result.content.len(), "byte");
                format!("{how}{}, gave {size}", took.unwrap_or_default())
            }
            JournalStep::Replied { messages } => {
                format!("replied with {}", counted(messages.len(), "message"))
            }
            JournalStep::Other(_) => single_line(recorded.step.kind(), NAME_CHARS),
        };
        lines.push(format!("{indent}+{at} {what}"));
    }
    lines
}

/// The tools that a model's answer calls.
fn wanted(content: &[ContentBlock]) -> String {
    let names: Vec<String> = content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolCall { name, .. } => Some(single_line(name, NAME_CHARS)),
            _ => None,
        })
        .collect();
    if names.is_empty() { String::new() } else { format!(", calls {}", names.join(", ")) }
}

fn span_lines(tree: Option<&SpanTree>) -> Vec<String> {
    let Some(tree) = tree else { return vec!["no events".to_owned()] };
    let mut lines = vec![format!("spans, from {} on", moment(tree.began))];
    below(&tree.spans, tree.began, 1, &mut lines);
    lines
}

/// Each span's first event, its children, and its last event.
fn below(spans: &[Span], began: Timestamp, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth.min(MAX_DEPTH));
    for span in spans {
        let Some((first, rest)) = span.events.split_first() else {
            let (at, took) = (milliseconds(span.offset_ms), milliseconds(span.duration_ms));
            lines.push(format!("{indent}+{at} wait ({took})"));
            continue;
        };
        lines.push(format!("{indent}+{} {}", milliseconds(span.offset_ms), span_line(&first.event)));
        below(&span.children, began, depth + 1, lines);
        for last in rest {
            let at = after(began, last.event.timestamp);
            lines.push(format!("{indent}+{at} {}", span_line(&last.event)));
        }
    }
}

/// The event as in the log, without the fields that are equal on every line.
fn span_line(event: &Event) -> String {
    let own = Event { turn_id: None, session_id: None, ..event.clone() };
    let level = if event.level > Level::Info { format!("{} ", event.level) } else { String::new() };
    let name = |name: &str| single_line(name, NAME_CHARS);
    format!(
        "[{}] {level}{}{}",
        name(event.category.as_str()),
        name(event.event_type.as_str()),
        details(&own, single_line)
    )
}
