//! Past runs: a list, and one run step by step.

use std::time::Duration;

use foreword_agent::background::workflows::{StepOutput, step_state};
use foreword_core::id::RunId;
use foreword_core::timestamp::Timestamp;
use foreword_core::workflow::StepState;
use foreword_prompt::untrusted::display_line;
use foreword_store::workflow_runs::{RunFilter, RunState, WorkflowRun, WorkflowStepRecord};
use serde_json::{Value, json};

use crate::failure::{Failure, at_terminal};
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, styled, when};
use crate::process_context::ProcessContext;
use crate::workspace_store::WorkspaceStore;

const MAX_LINE_CHARS: usize = 160;

pub(super) fn runs(
    name: Option<&str>,
    limit: u32,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    let workspace = process.open()?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let filter = RunFilter { workflow: name.map(str::to_owned), ..RunFilter::default() };
    let runs = match &stored {
        Some(stored) => stored.wait(stored.store.workflow_runs(filter, limit))?,
        None => Vec::new(),
    };
    if output.wants_json() {
        return output.json(&json!({ "runs": runs.iter().map(run_json).collect::<Vec<_>>() }));
    }
    if runs.is_empty() {
        output.print_stderr("No runs yet.");
        return Ok(());
    }
    let left = Align::Left;
    let mut table = Table::new(&[
        ("run", left),
        ("workflow", left),
        ("state", left),
        ("started", left),
        ("took", Align::Right),
        ("by", left),
    ]);
    for run in &runs {
        table.row(vec![
            styled(BOLD, &run.id),
            display_line(&run.workflow, MAX_LINE_CHARS),
            state(run.state),
            when(run.started_at),
            took(run.started_at, run.ended_at),
            run.started_by.as_deref().map_or_else(String::new, |by| display_line(by, MAX_LINE_CHARS)),
        ]);
    }
    output.print(&table.render())
}

pub(super) fn status(run: &str, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let help = "see `foreword workflows runs`";
    let id = RunId::new(run).map_err(|error| Failure::usage(error.to_string(), help))?;
    let workspace = process.open()?;
    let Some(stored) = WorkspaceStore::open_existing(&workspace, process)? else {
        return Err(Failure::failed(format!("unknown run `{id}`"), help));
    };
    let (run, steps) = stored.wait(stored.store.workflow_run(&id))?;
    if output.wants_json() {
        let mut out = run_json(&run);
        out["steps"] = json!(steps.iter().map(step_json).collect::<Vec<_>>());
        return output.json(&out);
    }
    let by = run
        .started_by
        .as_deref()
        .map_or_else(String::new, |by| format!(" by {}", display_line(by, MAX_LINE_CHARS)));
    let outside = if run.tainted { "; has read untrusted text" } else { "" };
    output.print(&format!(
        "{} {} {}, started {}{by}, {}{outside}",
        styled(BOLD, &run.id),
        display_line(&run.workflow, MAX_LINE_CHARS),
        state(run.state),
        when(run.started_at),
        took(run.started_at, run.ended_at),
    ))?;
    for step in &steps {
        output.print(&step_lines(step))?;
    }
    if let Some(error) = &run.error {
        output.print(&format!("{} {}", styled(RED, "error:"), plain(at_terminal(error))))?;
    }
    if let RunState::Ended(outcome) = run.state
        && outcome != foreword_core::turn_journal::Outcome::Done
    {
        output.print_stderr(&format!("resume with: foreword workflows resume {}", run.id));
    }
    Ok(())
}

/// A step: its state, output and errors.
fn step_lines(step: &WorkflowStepRecord) -> String {
    let given = StepOutput::of(step);
    let skipped = given.as_ref().is_some_and(|given| given.skipped);
    let state = match step_state(step) {
        StepState::Done if skipped => styled(YELLOW, "skipped"),
        StepState::Done => styled(GREEN, "done"),
        StepState::Failed => styled(RED, "failed"),
        StepState::Begun => styled(YELLOW, "started, not ended"),
    };
    let tries = if step.attempts > 1 { format!(", try {}", step.attempts) } else { String::new() };
    let mut out = format!(
        "  {}. {} {state}{tries} {}",
        step.number,
        styled(BOLD, display_line(&step.name, MAX_LINE_CHARS)),
        styled(DIM, took(step.started_at, step.ended_at)),
    );
    if let Some(given) = given.filter(|given| !given.skipped && !given.text.is_empty()) {
        out.push_str(&format!("\n     {}", plain(&given.text)));
    }
    if let Some(error) = &step.error {
        let when = if step_state(step) == StepState::Failed { "failed:" } else { "failed earlier:" };
        out.push_str(&format!("\n     {} {}", styled(YELLOW, when), plain(at_terminal(error))));
    }
    out
}

/// Untrusted text on one line; backticks are kept, since they are harmless.
fn plain(text: &str) -> String {
    display_line(text, MAX_LINE_CHARS)
}

fn state(state: RunState) -> String {
    let style = match state {
        RunState::Running => YELLOW,
        RunState::Ended(foreword_core::turn_journal::Outcome::Done) => GREEN,
        RunState::Ended(_) => RED,
    };
    styled(style, state.as_str())
}

fn took(from: Timestamp, to: Option<Timestamp>) -> String {
    match to.map(|to| to.since(from)) {
        None => "running".to_owned(),
        Some(took) if took < Duration::from_secs(60) => format!("{:.1} s", took.as_secs_f64()),
        Some(took) => format!("{} min {} s", took.as_secs() / 60, took.as_secs() % 60),
    }
}

fn run_json(run: &WorkflowRun) -> Value {
    json!({
        "run": run.id.as_str(), "workflow": run.workflow, "state": run.state.as_str(), "parameters": run.parameters,
        "started_by": run.started_by, "started_at": run.started_at, "ended_at": run.ended_at, "output": run.output,
        "error": run.error.as_ref().map(at_terminal), "tainted": run.tainted,
    })
}

fn step_json(step: &WorkflowStepRecord) -> Value {
    let given = StepOutput::of(step);
    json!({
        "number": step.number, "name": step.name, "attempts": step.attempts, "output": given.as_ref().map(|given| &given.text),
        "skipped": given.is_some_and(|given| given.skipped), "error": step.error.as_ref().map(at_terminal), "started_at": step.started_at,
        "ended_at": step.ended_at,
    })
}
