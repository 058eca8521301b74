//! `foreword_trace`: one turn step by step, from its journal and its events, as an indented tree. A turn of another
//! conversation, or of a higher trust, looks exactly like one that is not there. Shows no message's words.

use std::collections::BTreeMap;

use foreword_core::event::{Event, EventType, SpanId};
use foreword_core::id::{CallId, TurnId};
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::Step;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventPage};
use foreword_store::turns::{RecordedStep, Turn};
use serde_json::{Map, Value};

use super::event_line::{dollars, event_line, has_free_text, moment};
use super::given::Given;
use super::limits::{OutputLimits, counted, fitting, truncated};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};
use crate::viewer::Viewer;

const NAME: &str = "foreword_trace";
/// How many events of a turn are shown.
const MOST_EVENTS: u64 = 500;
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
    let id: TurnId = asked.trim().parse().map_err(|_| none())?;
    let (turn, steps) = match read(call, &id).await {
        Ok(found) => found,
        Err(StoreError::NotFound { .. }) => return Err(none()),
        Err(error) => return Err(unreadable(&error)),
    };
    let open = turn.conversation == call.conversation && call.trust.permits(turn.trust);
    if !open && !Viewer::from(call).sees_everything() {
        return Err(none());
    }
    let filter = EventFilter { turn: Some(id), ..EventFilter::default() };
    let events = call.store.events(&filter, &EventPage::oldest(MOST_EVENTS)).await;
    let events: Vec<Event> =
        events.map_err(|error| unreadable(&error))?.into_iter().map(|stored| stored.event).collect();
    let mut lines = head(&turn, &steps, &events);
    lines.extend(step_lines(&steps, turn.started_at));
    lines.extend(event_lines(&events, turn.started_at));
    let whole: usize = lines.iter().map(|line| line.len() + 1).sum();
    let (text, left_out) = fitting(lines.into_iter(), limits);
    let mut output = ToolOutput::ours(text);
    if left_out > 0 {
        let kept = output.text.len();
        output.text.push_str(&format!("[{} left out at the end]\n", counted(left_out, "line")));
        output.events.push(truncated(call, NAME, whole, kept));
    }
    output.from_outside = turn.error.is_some() || events.iter().any(has_free_text);
    Ok(output)
}

async fn read(call: &ToolCall, id: &TurnId) -> Result<(Turn, Vec<RecordedStep>), StoreError> {
    Ok((call.store.turn(id).await?, call.store.journal(id).await?))
}

fn unreadable(error: &StoreError) -> ToolOutput {
    ToolOutput::failed(format!("the turn can't be read: {error}"))
}

/// What the turn was, and what it took in all.
fn head(turn: &Turn, steps: &[RecordedStep], events: &[Event]) -> Vec<String> {
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
    let mut calls = 0;
    let mut usage = Usage::default();
    for step in steps {
        if let Step::Call { usage: one, .. } = &step.step {
            calls += 1;
            usage = sum(usage, *one);
        }
    }
    let retries = events.iter().filter(|event| event.event_type == EventType::ApiError).count();
    let errors = if retries == 1 { "1 failed call".to_owned() } else { format!("{retries} failed calls") };
    lines.push(format!(
        "{}, {errors}, {}, cost {}",
        counted(calls, "answered model call"),
        amounts(usage),
        cost(events)
    ));
    if let Some(error) = &turn.error {
        lines.push(format!("error: {}", single_line(error, 300)));
    }
    lines
}

fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input + other.input,
        output: one.output + other.output,
        cache_read: one.cache_read + other.cache_read,
        cache_write: one.cache_write + other.cache_write,
        cache_write_1h: one.cache_write_1h + other.cache_write_1h,
        cache_unknown: one.cache_unknown || other.cache_unknown,
    }
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

/// What the calls cost together; one whose price is not known makes the sum unknown.
fn cost(events: &[Event]) -> String {
    let calls = events.iter().filter(|event| event.event_type == EventType::ApiCall);
    let costs: Option<Vec<f64>> = calls.map(|event| event.cost_usd).collect();
    match costs {
        Some(costs) if !costs.is_empty() => dollars(costs.iter().sum()),
        _ => "unknown".to_owned(),
    }
}

fn after(start: Timestamp, at: Timestamp) -> String {
    format!("{} ms", with_thousands(usize::try_from(at.since(start).as_millis()).unwrap_or(usize::MAX)))
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

fn event_lines(events: &[Event], start: Timestamp) -> Vec<String> {
    let parents: BTreeMap<SpanId, Option<SpanId>> =
        events.iter().filter_map(|event| Some((event.span_id?, event.parent_span_id))).collect();
    let depth = |event: &Event| {
        let (mut depth, mut parent) = (0, event.parent_span_id);
        while let Some(above) = parent.and_then(|id| parents.get(&id)) {
            if depth >= DEEPEST {
                break;
            }
            depth += 1;
            parent = *above;
        }
        depth
    };
    let line = |event: &Event| {
        // The same for every line here, so it is not said again.
        let own = Event { turn_id: None, session_id: None, ..event.clone() };
        format!("  {}+{} {}", "  ".repeat(depth(event)), after(start, event.timestamp), event_line(&own))
    };
    let heading = if events.is_empty() { "no events" } else { "events" };
    [heading.to_owned()].into_iter().chain(events.iter().map(line)).collect()
}
