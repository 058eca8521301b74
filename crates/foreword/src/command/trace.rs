//! `foreword trace`: one turn as the tree it happened in, with bars for the time. The same record the tool
//! `foreword_trace` tells from.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use foreword_agent::turn_trace::{LAST, TurnFound, TurnTrace};
use foreword_agent::viewer::Viewer;
use foreword_core::id::TurnId;
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cli::observe::TraceArgs;
use crate::failure::Failure;
use crate::looking::Looker;
use crate::output::span_bars::{draw, duration};
use crate::output::{BOLD, DIM, Output, RED, columns, counted, readable, styled};
use crate::stored::Stored;
use crate::world::World;

/// How much of a text that others wrote is shown.
const ERROR_CHARS: usize = 300;

pub(crate) fn run(args: &TraceArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let looker = Looker::of(&args.look, &workspace, world, output)?;
    let Some(stored) = Stored::open_existing(&workspace, world)? else { return Err(none(&args.turn)) };
    let viewer = looker.viewer(&stored.store, world);
    let trace = stored.wait(find(&viewer, args.turn.trim()))?;
    if output.wants_json() {
        output.json(&as_json(&trace, viewer.trust))?;
    } else {
        output.print(&text(&trace, viewer.trust, world.now.time_zone()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The turn that `word` means.
async fn find(viewer: &Viewer, word: &str) -> Result<TurnTrace, Failure> {
    match TurnTrace::named(viewer, word).await? {
        TurnFound::One(trace) => Ok(*trace),
        TurnFound::None => Err(none(word)),
        TurnFound::Several { ids, count, or_more } => {
            let ids: Vec<&str> = ids.iter().map(TurnId::as_str).collect();
            let or_more = if or_more { " or more" } else { "" };
            Err(Failure::failed(
                format!("{count}{or_more} turns begin with `{}`", single_line(word, 80)),
                format!("write more of it: {}", ids.join(", ")),
            ))
        }
    }
}

fn none(word: &str) -> Failure {
    let help = "`foreword logs --type turn_started` lists turns; `last` is the newest";
    match word {
        LAST => Failure::failed("there is no turn yet", "`foreword chat` begins a conversation"),
        word => Failure::failed(format!("there is no turn `{}`", single_line(word, 80)), help),
    }
}

fn text(trace: &TurnTrace, trust: Trust, zone: &TimeZone) -> String {
    let (turn, totals) = (&trace.turn, trace.totals());
    let name = |name: &str| single_line(name, 120);
    let number = |number: u64| with_thousands(usize::try_from(number).unwrap_or(usize::MAX));
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
    let usage = totals.usage;
    let read = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let failed = if totals.failed > 0 { format!(", {} failed", totals.failed) } else { String::new() };
    lines.push(format!(
        "{}, {took}; {}{failed}, {} tokens in ({} from cache), {} out, cost {}",
        at.strftime("%Y-%m-%d %H:%M:%S"),
        counted(totals.calls as u64, "call"),
        number(read),
        number(usage.cache_read),
        number(usage.output),
        totals.cost
    ));
    if let Some(failure) = &turn.failure {
        let shown = failure.shown_at(trust, turn.id.as_str());
        let error = readable(&single_line(&shown.message, ERROR_CHARS));
        lines.push(format!("{} {error}", styled(RED, "failed:")));
    }
    lines.push(String::new());
    match trace.tree() {
        Some(tree) => lines.extend(draw(&tree, io::stdout().is_terminal().then(columns))),
        None => lines.push(styled(DIM, "its events are gone: they are kept for `events.retention_days`")),
    }
    lines.join("\n")
}

fn as_json(trace: &TurnTrace, trust: Trust) -> Value {
    let (turn, totals) = (&trace.turn, trace.totals());
    let tree = trace.tree();
    let failure = turn.failure.as_ref().map(|failure| failure.shown_at(trust, turn.id.as_str()));
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
