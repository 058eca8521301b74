//! `foreword store`: checks, backs up and restores the store, and prunes old events.

use std::path::Path;
use std::process::ExitCode;

use foreword_core::since::since;
use foreword_prompt::text::with_thousands;
use foreword_store::backup::Existing;
use foreword_store::check::CheckReport;
use foreword_store::error::StoreError;
use foreword_store::events::RetentionConfig;
use foreword_store::progress::WorkProgress;
use parking_lot::Mutex;
use serde_json::json;

use crate::cli::stored::StoreCommand;
use crate::failure::Failure;
use crate::output::progress::ProgressLine;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, CYAN, DIM, GREEN, Output, RED, counted, styled, when};
use crate::process_context::ProcessContext;
use crate::workspace_store::{WorkspaceStore, location, now};

pub(crate) fn run(
    command: &StoreCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match command {
        StoreCommand::Check => check(process, output),
        StoreCommand::Backup { file, force } => backup(file, *force, process, output),
        StoreCommand::Restore { file } => restore(file, process, output),
        StoreCommand::Prune { before } => prune(before.as_deref(), process, output),
    }
}

/// Shows progress that arrives on another thread.
fn listener(what: &'static str) -> impl Fn(WorkProgress) + Send + Sync + 'static {
    let meter = Mutex::new(ProgressLine::new(what));
    move |progress: WorkProgress| {
        meter.lock().show(progress.done, Some(progress.of));
    }
}

/// The store; fails if it does not exist.
fn existing(process: &ProcessContext) -> Result<WorkspaceStore, Failure> {
    let workspace = process.open()?;
    let place = location(&workspace, process)?;
    WorkspaceStore::open_existing(&workspace, process)?.ok_or_else(|| {
        Failure::failed(
            format!("there is no database at `{place}`: nothing was stored yet"),
            "it is created when something is first stored, such as by `foreword template set`",
        )
    })
}

fn check(process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let stored = existing(process)?;
    let report = stored.wait(stored.store.check(listener("checking")))?;
    if output.wants_json() {
        output.json(&report)?;
    } else {
        output.print(&report_text(&report))?;
    }
    Ok(if report.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report_text(report: &CheckReport) -> String {
    let number = |number: u64| with_thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let mut out = vec![
        format!(
            "{} {}",
            styled(BOLD, &report.place),
            styled(DIM, format!("({} {})", report.engine, report.engine_version))
        ),
        format!("schema version {}, {} bytes", report.schema_version, number(report.bytes)),
        String::new(),
    ];
    let right = Align::Right;
    let mut table = Table::new(&[("table", Align::Left), ("rows", right), ("bytes", right)]);
    for one in &report.tables {
        table.row(vec![one.name.to_owned(), number(one.rows), one.bytes.map(number).unwrap_or_default()]);
    }
    out.push(table.render());
    out.push(String::new());
    for problem in &report.problems {
        let place = problem.table.map(|table| format!("{table}: ")).unwrap_or_default();
        out.push(format!("{} {place}{}", styled(RED, "problem:"), problem.what));
        out.push(format!("  {} {}", styled(CYAN, "help:"), problem.help));
    }
    out.push(match report.problems.len() as u64 + report.more_problems {
        0 => styled(GREEN, "No problems found."),
        count => format!("{}.", counted(count, "problem")),
    });
    out.join("\n")
}

fn backup(file: &Path, force: bool, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let stored = existing(process)?;
    let existing = if force { Existing::Replace } else { Existing::Keep };
    let path = process.current.join(file);
    if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
        return Err(Failure::failed(
            format!("the folder `{}` does not exist", folder.display()),
            "create it first",
        ));
    }
    let backup = stored.wait(stored.store.backup(&path, existing, listener("copying")));
    let backup = backup.map_err(|error| match error {
        // An error of the file named on the command line, not of the store.
        StoreError::Unreachable { place, reason } if place == path.display().to_string() => {
            Failure::failed(format!("can't copy to `{place}`: {reason}"), "name another file")
        }
        error => error.into(),
    })?;
    if output.wants_json() {
        output.json(&backup)?;
    } else {
        output.print(&format!(
            "{} {}: {}, {}, checked.",
            styled(GREEN, "Copied to"),
            backup.path.display(),
            counted(backup.rows, "row"),
            counted(backup.bytes, "byte")
        ))?;
        output.print_stderr(&styled(
            DIM,
            format!("Restore it to an empty store with `foreword store restore {}`.", file.display()),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn restore(file: &Path, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let path = process.current.join(file);
    if !path.is_file() {
        let message = format!("the backup `{}` does not exist", path.display());
        return Err(Failure::failed(message, "name a file created by `foreword store backup`"));
    }
    let workspace = process.open()?;
    let stored = WorkspaceStore::open(&workspace, process)?;
    let restored = stored.wait(stored.store.restore(&path, listener("restoring")))?;
    if output.wants_json() {
        output.json(&restored)?;
    } else {
        let rows = counted(restored.rows, "row");
        output.print(&format!("{} {rows} into {}.", styled(GREEN, "Restored"), stored.store.location()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn prune(before: Option<&str>, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let before = before.map(|text| since(text, &process.now)).transpose();
    let before = before.map_err(|error| Failure::usage(error.to_string(), "such as --before 30d"))?;
    let workspace = process.open()?;
    let config =
        RetentionConfig { days: workspace.snapshot().config.event_days, ..RetentionConfig::default() };
    let before = before.unwrap_or_else(|| config.cutoff(now(process)));
    let mut count = 0;
    if let Some(stored) = WorkspaceStore::open_existing(&workspace, process)? {
        let mut meter = ProgressLine::new("events deleted");
        loop {
            let pruned = stored.wait(stored.store.prune_events(before, config.slice))?;
            count += pruned.count;
            meter.show(count, None);
            if !pruned.more {
                break;
            }
        }
    }
    if output.wants_json() {
        output.json(&json!({ "deleted": count, "before": before }))?;
    } else {
        output.print(&format!("Deleted {} from before {}.", counted(count, "event"), when(before)))?;
    }
    Ok(ExitCode::SUCCESS)
}
