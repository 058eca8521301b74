//! `foreword schedules`: the schedules, their next times and past firings. Reading needs no running process and creates
//! no database.

mod fire;
mod view;

use std::process::ExitCode;
use std::sync::Arc;

use foreword_core::schedule::FiringOutcome;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_store::schedules::Firing;
use foreword_workspace::config::{Config, Schedule};
use serde_json::json;

use crate::chat::one_line::{escape_invisible, fitted};
use crate::cli::schedules::{SchedulesArgs, SchedulesCommand};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, styled};
use crate::process_context::ProcessContext;
use crate::workspace_store::WorkspaceStore;
use view::{View, firing_json, local};

/// How many of the next times are shown.
const NEXT_TIMES: usize = 5;
const MAX_NOTE_CHARS: usize = 24;

pub(crate) fn run(
    args: &SchedulesArgs,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match args.command.as_ref().unwrap_or(&SchedulesCommand::List) {
        SchedulesCommand::Run { name } => return fire::run(name, process, output),
        SchedulesCommand::List => list(process, output)?,
        SchedulesCommand::Show { name } => show(name, process, output)?,
        SchedulesCommand::History { name, limit } => history(name, *limit, process, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let workspace = process.open()?;
    let config = Arc::clone(&workspace.snapshot().config);
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let views = View::all(&config, stored.as_ref(), process)?;
    if output.wants_json() {
        let all: Vec<_> = views.iter().map(View::json).collect();
        return output.json(&json!({ "schedules": all }));
    }
    if views.is_empty() {
        output.print_stderr("No schedules. Add some in section `schedules` of foreword.yaml, such as");
        output.print_stderr(&styled(
            DIM,
            "  schedules:\n    heartbeat: { cron: \"*/30 * * * *\", heartbeat: true }",
        ));
        return Ok(());
    }
    let left = Align::Left;
    let mut table = Table::new(&[
        ("name", left),
        ("does", left),
        ("when", left),
        ("zone", left),
        ("next", left),
        ("last", left),
        ("failures", Align::Right),
    ]);
    for view in &views {
        let last = view.stands.last.as_ref().map_or_else(|| styled(DIM, "–"), short_outcome);
        table.row(vec![
            styled(BOLD, &view.stands.schedule.name),
            view.stands.schedule.action.as_str().to_owned(),
            view.stands.schedule.cron.as_str().to_owned(),
            view.zone_name(),
            view.next_text(),
            last,
            view.stands.failures.to_string(),
        ]);
    }
    output.print(&table.render())
}

fn show(name: &str, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let workspace = process.open()?;
    let config = Arc::clone(&workspace.snapshot().config);
    find(&config, name)?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let views = View::all(&config, stored.as_ref(), process)?;
    let Some(view) = views.into_iter().find(|view| &*view.stands.schedule.name == name) else {
        return Err(unknown(&config, name));
    };
    let times = view.stands.times(NEXT_TIMES);
    if output.wants_json() {
        let mut out = view.json();
        out["next"] = json!(times);
        return output.json(&out);
    }
    let schedule = &view.stands.schedule;
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]).without_header();
    let mut row = |key: &str, value: String| table.row(vec![styled(DIM, key), value]);
    row("name", styled(BOLD, &schedule.name));
    row("does", view.action_text());
    row("when", format!("{}  {}", schedule.cron, styled(DIM, schedule.cron.in_words())));
    row("zone", view.zone_name());
    row("for", schedule.user.to_string());
    row("missed", schedule.missed.to_string());
    row("next", view.next_text());
    for time in times.iter().skip(1) {
        row("", local(*time, &view.stands.zone));
    }
    if let Some(last) = &view.stands.last {
        row("last", format!("{} {}", local(last.due_at, &view.stands.zone), full_outcome(last)));
    }
    row("failures", format!("{} in a row", view.stands.failures));
    output.print(&table.render())
}

fn history(name: &str, limit: u32, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let workspace = process.open()?;
    let config = Arc::clone(&workspace.snapshot().config);
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let firings = match &stored {
        Some(stored) => stored.wait(stored.store.firings(name, limit))?,
        None => Vec::new(),
    };
    if firings.is_empty() {
        // A removed schedule may still have a history; a name with neither is an error.
        find(&config, name)?;
    }
    if output.wants_json() {
        let all: Vec<_> = firings.iter().map(firing_json).collect();
        return output.json(&json!({ "name": name, "firings": all }));
    }
    if firings.is_empty() {
        output.print_stderr(&format!("{} has not fired yet.", styled(BOLD, name)));
        return Ok(());
    }
    let zone = view::zone(config.schedules.get(name), process);
    let mut table = Table::new(&[("due", Align::Left), ("took", Align::Right), ("outcome", Align::Left)]);
    for firing in &firings {
        table.row(vec![local(firing.due_at, &zone), took(firing), full_outcome(firing)]);
    }
    output.print(&table.render())
}

fn find<'a>(config: &'a Config, name: &str) -> Result<&'a Schedule, Failure> {
    config.schedules.get(name).ok_or_else(|| unknown(config, name))
}

fn unknown(config: &Config, name: &str) -> Failure {
    let near = did_you_mean(name, config.schedules.keys().map(|name| &**name));
    let help =
        near.map_or_else(|| "see `foreword schedules`".to_owned(), |near| format!("did you mean `{near}`?"));
    Failure::failed(format!("unknown schedule `{}`", escape_invisible(name)), help)
}

/// The outcome of a firing.
fn outcome(firing: &Firing) -> String {
    match firing.outcome {
        Some(FiringOutcome::Done) => styled(GREEN, "done"),
        Some(FiringOutcome::Failed) => styled(RED, "failed"),
        Some(FiringOutcome::Skipped) => styled(YELLOW, "skipped"),
        None => "running".to_owned(),
    }
}

/// The outcome with a short note, if it succeeded with one.
fn short_outcome(firing: &Firing) -> String {
    match firing.note.as_deref().filter(|_| firing.outcome == Some(FiringOutcome::Done)) {
        Some(note) => format!("{}: {}", outcome(firing), fitted(&escape_invisible(note), MAX_NOTE_CHARS)),
        None => outcome(firing),
    }
}

/// The outcome with the reason.
fn full_outcome(firing: &Firing) -> String {
    let why = firing.error.as_deref().or(firing.note.as_deref());
    why.map_or_else(|| outcome(firing), |why| format!("{}: {}", outcome(firing), escape_invisible(why)))
}

fn took(firing: &Firing) -> String {
    let took = firing.ended_at.map(|ended| ended.since(firing.claimed_at));
    took.map_or_else(|| "–".to_owned(), |took| format!("{:.1} s", took.as_secs_f64()))
}
