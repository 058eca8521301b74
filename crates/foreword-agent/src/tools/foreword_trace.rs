//! `foreword_trace`: one turn step by step, from its journal and its events, as an indented tree; or one proxied request,
//! from its events. A turn of another
//! conversation, or of a higher trust, looks exactly like one that is not there. Shows no message's words.

use std::collections::BTreeMap;

use foreword_core::event::{Event, Level, StoredEvent};
use foreword_core::id::CallId;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::span_tree::{Span, SpanTree};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::Step;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::single_line;
use foreword_store::turns::RecordedStep;
use serde_json::{Map, Value};

use super::event_line::{details, has_free_text, moment};
use super::given::Given;
use super::limits::{OutputLimits, counted, fitting, truncated};
use crate::request_trace::RequestTrace;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};
use crate::turn_trace::{TurnFound, TurnTrace};
use crate::viewer::Viewer;

const NAME: &str = "foreword_trace";
/// How much of a name is shown.
const NAME_CHARS: usize = 120;
/// How deep events in events are shown.
const DEEPEST: usize = 12;

/// Shows a turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForewordTrace {
    limits: OutputLimits,
}

impl ForewordTrace {
    /// The tool, with these limits.
    #[must_use]
    pub fn new(limits: OutputLimits) -> Self {
        Self { limits }
    }
}

impl Tool for ForewordTrace {
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
            match trace(&Given::new(arguments), &call, limits).await {
                Ok(output) | Err(output) => output,
            }
        })
    }
}

async fn trace(given: &Given, call: &ToolCall, limits: OutputLimits) -> Result<ToolOutput, ToolOutput> {
    let asked = given.text("turn")?;
    let none = || {
        let shown = single_line(asked, NAME_CHARS);
        ToolOutput::failed(format!(
            "there is no turn `{shown}`: take an id that foreword_logs shows behind `turn=`"
        ))
    };
    let found = TurnTrace::with_id(&Viewer::from(call), asked.trim()).await;
    let found = found.map_err(|error| ToolOutput::failed(format!("the turn can't be read: {error}")))?;
    let (lines, from_outside) = match found {
        TurnFound::One(trace) => {
            let mut lines = head(&trace);
            lines.extend(step_lines(&trace.steps, trace.turn.started_at));
            lines.extend(span_lines(trace.tree().as_ref()));
            (lines, trace.turn.error.is_some() || any_free_text(&trace.events))
        }
        TurnFound::Request(request) => {
            let mut lines = request_head(&request);
            lines.extend(span_lines(request.tree().as_ref()));
            (lines, request.error().is_some() || any_free_text(&request.events))
        }
        TurnFound::None | TurnFound::Several { .. } => return Err(none()),
    };
    let whole: usize = lines.iter().map(|line| line.len() + 1).sum();
    let (text, left_out) = fitting(lines.into_iter(), limits);
    let mut output = ToolOutput::ours(text);
    if left_out > 0 {
        let kept = output.text.len();
        output.text.push_str(&format!("[{} left out at the end]\n", counted(left_out, "line")));
        output.events.push(truncated(call, NAME, whole, kept));
    }
    output.from_outside = from_outside;
    Ok(output)
}

fn any_free_text(events: &[StoredEvent]) -> bool {
    events.iter().any(|stored| has_free_text(&stored.event))
}

/// What a proxied request was, and what it took.
fn request_head(request: &RequestTrace) -> Vec<String> {
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
    lines.extend(request.error().map(|error| format!("error: {}", single_line(error, 300))));
    lines
}

/// What the turn was, and what it took in all.
fn head(trace: &TurnTrace) -> Vec<String> {
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
    if let Some(error) = &turn.error {
        lines.push(format!("error: {}", single_line(error, 300)));
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
            Step::ToolStarted { .. } => "    ",
            Step::ToolFinished(_) => "      ",
            _ => "  ",
        };
        let what = match &recorded.step {
            Step::Accepted { messages } => format!("accepted {}", counted(messages.len(), "message")),
            Step::PromptBuilt(prompt) => {
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
            Step::Call { model, content, usage } => {
                format!("model {}: {}{}", single_line(model, NAME_CHARS), amounts(*usage), wanted(content))
            }
            Step::ToolStarted { call, tool, side_effects } => {
                tools.insert(call, (tool, recorded.at));
                let changes = if *side_effects { ", changes something" } else { "" };
                format!(
                    "tool {} (`{}`){changes}",
                    single_line(tool, NAME_CHARS),
                    single_line(call.as_str(), NAME_CHARS)
                )
            }
            Step::ToolFinished(result) => {
                let how = if result.is_error { "failed" } else { "finished" };
                let took = tools
                    .get(&result.call)
                    .map(|(_, begun)| format!(" after {}", after(*begun, recorded.at)));
                let size = counted(result.content.len(), "byte");
                format!("{how}{}, gave {size}", took.unwrap_or_default())
            }
            Step::Replied { messages } => format!("replied with {}", counted(messages.len(), "message")),
            Step::Other(_) => single_line(recorded.step.kind(), NAME_CHARS),
        };
        lines.push(format!("{indent}+{at} {what}"));
    }
    lines
}

/// Which tools a model's answer calls.
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

/// Each span's first event, its parts, and then what ended it.
fn below(spans: &[Span], began: Timestamp, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth.min(DEEPEST));
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

/// The event as the log writes it, without what is the same for every line here.
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
