//! `foreword trace`: one turn, or one proxied request, as the tree it happened in, with bars for the time. The same record the tool
//! `foreword_trace` tells from.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use foreword_agent::request_trace::RequestTrace;
use foreword_agent::turn_trace::{LAST, Totals, TurnFound, TurnTrace};
use foreword_agent::viewer::Viewer;
use foreword_core::id::TurnId;
use foreword_core::span_tree::SpanTree;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::display_line;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cli::observe::TraceArgs;
use crate::failure::Failure;
use crate::looking::Looker;
use crate::output::span_bars::{draw, duration};
use crate::output::{BOLD, DIM, Output, RED, columns, counted, styled};
use crate::stored::Stored;
use crate::world::World;

/// How much of a text that others wrote is shown.
const ERROR_CHARS: usize = 300;

pub(crate) fn run(args: &TraceArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let looker = Looker::of(&args.look, &workspace, world, output)?;
    let Some(stored) = Stored::open_existing(&workspace, world)? else { return Err(none(&args.turn)) };
    let viewer = looker.viewer(&stored.store, world);
    let (zone, wants_json) = (world.now.time_zone(), output.wants_json());
    match stored.wait(find(&viewer, args.turn.trim()))? {
        Found::Turn(trace) if wants_json => output.json(&as_json(&trace))?,
        Found::Turn(trace) => output.print(&text(&trace, zone))?,
        Found::Request(request) if wants_json => output.json(&request_json(&request))?,
        Found::Request(request) => output.print(&request_text(&request, zone))?,
    }
    Ok(ExitCode::SUCCESS)
}

enum Found {
    Turn(Box<TurnTrace>),
    Request(Box<RequestTrace>),
}

/// The turn or the proxied request that `word` means.
async fn find(viewer: &Viewer, word: &str) -> Result<Found, Failure> {
    match TurnTrace::named(viewer, word).await? {
        TurnFound::One(trace) => Ok(Found::Turn(trace)),
        TurnFound::Request(request) => Ok(Found::Request(request)),
        TurnFound::None => Err(none(word)),
        TurnFound::Several { ids, count, or_more } => {
            let ids: Vec<&str> = ids.iter().map(TurnId::as_str).collect();
            let or_more = if or_more { " or more" } else { "" };
            Err(Failure::failed(
                format!("{count}{or_more} turns begin with `{}`", display_line(word, 80)),
                format!("write more of it: {}", ids.join(", ")),
            ))
        }
    }
}

fn none(word: &str) -> Failure {
    let help = "`foreword logs --type turn_started` lists turns; `last` is the newest";
    match word {
        LAST => Failure::failed("there is no turn yet", "`foreword chat` begins a conversation"),
        word => Failure::failed(format!("there is no turn `{}`", display_line(word, 80)), help),
    }
}

fn text(trace: &TurnTrace, zone: &TimeZone) -> String {
    let (turn, totals) = (&trace.turn, trace.totals());
    let name = |name: &str| display_line(name, 120);
    let mut lines = vec![format!(
        "{} of {}: {}, at {} trust, on {}",
        styled(BOLD, format!("turn {}", name(turn.id.as_str()))),
        name(turn.conversation.as_str()),
        turn.state,
        turn.trust,
        name(turn.holder.as_str()),
    )];
    let at = jiff::Timestamp::from(turn.started_at).to_zoned(zone.clone());
    let took = turn.ended_at.map_or_else(
        || "not ended".to_owned(),
        |end| {
            let took = end.since(turn.started_at).as_millis();
            format!("took {}", duration(u64::try_from(took).unwrap_or(u64::MAX)))
        },
    );
    lines.push(format!("{}, {took}; {}", at.strftime("%Y-%m-%d %H:%M:%S"), figures(&totals)));
    lines.extend(turn.error.as_deref().map(failed));
    lines.push(String::new());
    lines.extend(spans(trace.tree().as_ref()));
    lines.join("\n")
}

fn request_text(request: &RequestTrace, zone: &TimeZone) -> String {
    let name = |name: &str| display_line(name, 120);
    let conversation = request.conversation.as_ref().map(|id| format!(" of {}", name(id.as_str())));
    let at = jiff::Timestamp::from(request.started_at).to_zoned(zone.clone());
    let took =
        request.tree().map_or_else(String::new, |tree| format!(", took {}", duration(tree.duration_ms)));
    let mut lines = vec![
        format!(
            "{}{}: {}",
            styled(BOLD, format!("proxied request {}", name(&request.request))),
            conversation.unwrap_or_default(),
            request.state()
        ),
        format!("{}{took}; {}", at.strftime("%Y-%m-%d %H:%M:%S"), figures(&request.totals())),
    ];
    lines.extend(request.error().map(failed));
    lines.push(String::new());
    lines.extend(spans(request.tree().as_ref()));
    lines.join("\n")
}

fn figures(totals: &Totals) -> String {
    let number = |number: u64| with_thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let usage = totals.usage;
    let read = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let failed = if totals.failed > 0 { format!(", {} failed", totals.failed) } else { String::new() };
    format!(
        "{}{failed}, {} tokens in ({} from cache), {} out, cost {}",
        counted(totals.calls as u64, "call"),
        number(read),
        number(usage.cache_read),
        number(usage.output),
        totals.cost
    )
}

fn failed(error: &str) -> String {
    format!("{} {}", styled(RED, "failed:"), display_line(error, ERROR_CHARS))
}

fn spans(tree: Option<&SpanTree>) -> Vec<String> {
    match tree {
        Some(tree) => draw(tree, io::stdout().is_terminal().then(columns)),
        None => vec![styled(DIM, "its events are gone: they are kept for `events.retention_days`")],
    }
}

/// The same keys as a turn's; what a proxied request does not have is `null`.
fn request_json(request: &RequestTrace) -> Value {
    let (totals, tree) = (request.totals(), request.tree());
    json!({
        "turn": null,
        "request": request.request,
        "session_id": request.conversation,
        "state": request.state(),
        "trust": null,
        "node": null,
        "attempts": 1,
        "started_at": request.started_at,
        "ended_at": null,
        "error": request.error(),
        "calls": totals.calls,
        "failed_calls": totals.failed,
        "usage": totals.usage,
        "cost_usd": totals.cost,
        "began": tree.as_ref().map(|tree| tree.began),
        "duration_ms": tree.as_ref().map(|tree| tree.duration_ms),
        "spans": tree.map(|tree| tree.spans).unwrap_or_default(),
    })
}

fn as_json(trace: &TurnTrace) -> Value {
    let (turn, totals) = (&trace.turn, trace.totals());
    let tree = trace.tree();
    json!({
        "turn": turn.id,
        "session_id": turn.conversation,
        "state": turn.state.as_str(),
        "trust": turn.trust,
        "node": turn.holder,
        "attempts": turn.attempts,
        "started_at": turn.started_at,
        "ended_at": turn.ended_at,
        "error": turn.error,
        "calls": totals.calls,
        "failed_calls": totals.failed,
        "usage": totals.usage,
        "cost_usd": totals.cost,
        "began": tree.as_ref().map(|tree| tree.began),
        "duration_ms": tree.as_ref().map(|tree| tree.duration_ms),
        "spans": tree.map(|tree| tree.spans).unwrap_or_default(),
    })
}
