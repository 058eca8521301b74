//! `foreword trace`: one turn or one proxied request as a tree of spans with bars. The tool `foreword_trace` uses the
//! same data.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use foreword_agent::reports::request_trace::RequestTrace;
use foreword_agent::reports::turn_trace::{LAST, Totals, TurnFound, TurnTrace};
use foreword_agent::reports::viewer::Viewer;
use foreword_core::id::TurnId;
use foreword_core::span_tree::SpanTree;
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::display_line;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cli::observe::TraceArgs;
use crate::failure::Failure;
use crate::output::span_bars::{draw, duration};
use crate::output::{BOLD, DIM, Output, RED, columns, counted, styled};
use crate::process_context::ProcessContext;
use crate::viewer::ViewerIdentity;
use crate::workspace_store::WorkspaceStore;

const ERROR_CHARS: usize = 300;

pub(crate) fn run(args: &TraceArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let identity = ViewerIdentity::of(&args.look, &workspace, process, output)?;
    let Some(stored) = WorkspaceStore::open_existing(&workspace, process)? else {
        return Err(none(&args.turn));
    };
    let viewer = identity.viewer(&stored.store, process);
    let (zone, wants_json) = (process.now.time_zone(), output.wants_json());
    match stored.wait(find(&viewer, args.turn.trim()))? {
        TraceTarget::Turn(trace) if wants_json => output.json(&as_json(&trace, viewer.trust))?,
        TraceTarget::Turn(trace) => output.print(&text(&trace, viewer.trust, zone))?,
        TraceTarget::Request(request) if wants_json => output.json(&request_json(&request, viewer.trust))?,
        TraceTarget::Request(request) => output.print(&request_text(&request, viewer.trust, zone))?,
    }
    Ok(ExitCode::SUCCESS)
}

enum TraceTarget {
    Turn(Box<TurnTrace>),
    Request(Box<RequestTrace>),
}

/// The turn or the proxied request that `word` refers to.
async fn find(viewer: &Viewer, word: &str) -> Result<TraceTarget, Failure> {
    match TurnTrace::named(viewer, word).await? {
        TurnFound::One(trace) => Ok(TraceTarget::Turn(trace)),
        TurnFound::Request(request) => Ok(TraceTarget::Request(request)),
        TurnFound::None => Err(none(word)),
        TurnFound::Several { ids, count, or_more } => {
            let ids: Vec<&str> = ids.iter().map(TurnId::as_str).collect();
            let or_more = if or_more { " or more" } else { "" };
            Err(Failure::failed(
                format!("{count}{or_more} turn ids start with `{}`", display_line(word, 80)),
                format!("use a longer prefix: {}", ids.join(", ")),
            ))
        }
    }
}

fn none(word: &str) -> Failure {
    let help = "`foreword logs --type turn_started` lists turns; `last` is the newest";
    match word {
        LAST => Failure::failed("no turns yet", "start a conversation with `foreword chat`"),
        word => Failure::failed(format!("unknown turn `{}`", display_line(word, 80)), help),
    }
}

fn text(trace: &TurnTrace, trust: Trust, zone: &TimeZone) -> String {
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
    let failure = turn.failure.as_ref().map(|failure| failure.visible_at(trust, turn.id.as_str()));
    lines.extend(failure.map(|failure| failed(&failure.message)));
    lines.push(String::new());
    lines.extend(spans(trace.tree().as_ref()));
    lines.join("\n")
}

fn request_text(request: &RequestTrace, trust: Trust, zone: &TimeZone) -> String {
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
    lines.extend(request_error(request, trust).map(failed));
    lines.push(String::new());
    lines.extend(spans(request.tree().as_ref()));
    lines.join("\n")
}

/// The error may contain the provider's address: only the owner sees it.
fn request_error(request: &RequestTrace, trust: Trust) -> Option<&str> {
    request.error().filter(|_| trust.permits(Trust::Full))
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
        None => vec![styled(DIM, "its events were deleted after `events.retention_days`")],
    }
}

/// The same keys as for a turn; those that do not apply are `null`.
fn request_json(request: &RequestTrace, trust: Trust) -> Value {
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
        "error": request_error(request, trust),
        "calls": totals.calls,
        "failed_calls": totals.failed,
        "usage": totals.usage,
        "cost_usd": totals.cost,
        "began": tree.as_ref().map(|tree| tree.began),
        "duration_ms": tree.as_ref().map(|tree| tree.duration_ms),
        "spans": tree.map(|tree| tree.spans).unwrap_or_default(),
    })
}

fn as_json(trace: &TurnTrace, trust: Trust) -> Value {
    let (turn, totals) = (&trace.turn, trace.totals());
    let tree = trace.tree();
    let failure = turn.failure.as_ref().map(|failure| failure.visible_at(trust, turn.id.as_str()));
    json!({
        "turn": turn.id,
        "session_id": turn.conversation,
        "state": turn.state.as_str(),
        "trust": turn.trust,
        "node": turn.holder,
        "attempts": turn.attempts,
        "started_at": turn.started_at,
        "ended_at": turn.ended_at,
        "error_code": failure.as_ref().map(|failure| failure.code),
        "error": failure.map(|failure| failure.message),
        "calls": totals.calls,
        "failed_calls": totals.failed,
        "usage": totals.usage,
        "cost_usd": totals.cost,
        "began": tree.as_ref().map(|tree| tree.began),
        "duration_ms": tree.as_ref().map(|tree| tree.duration_ms),
        "spans": tree.map(|tree| tree.spans).unwrap_or_default(),
    })
}
