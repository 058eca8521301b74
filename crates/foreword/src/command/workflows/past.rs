//! What was run: a list of runs, and one run step by step.

use std::time::Duration;

use foreword_agent::workflows::{StepOutput, step_state};
use foreword_core::id::RunId;
use foreword_core::timestamp::Timestamp;
use foreword_core::workflow::StepState;
use foreword_prompt::untrusted::display_line;
use foreword_store::workflow_runs::{RunFilter, RunState, WorkflowRun, WorkflowStep};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, styled, when};
use crate::stored::Stored;
use crate::world::World;

/// The most characters of an output or error on a line.
const LINE: usize = 160;

pub(super) fn runs(name: Option<&str>, limit: u32, world: &World, output: &Output) -> Result<(), Failure> {
    let workspace = world.open()?;
    let stored = Stored::open_existing(&workspace, world)?;
    let filter = RunFilter { workflow: name.map(str::to_owned), ..RunFilter::default() };
    let runs = match &stored {
        Some(stored) => stored.wait(stored.store.workflow_runs(filter, limit))?,
        None => Vec::new(),
    };
    if output.wants_json() {
        return output.json(&json!({ "runs": runs.iter().map(run_json).collect::<Vec<_>>() }));
    }
    if runs.is_empty() {
        output.say("Nothing was run yet.");
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
            display_line(&run.workflow, LINE),
            state(run.state),
            when(run.started_at),
            took(run.started_at, run.ended_at),
            run.started_by.as_deref().map_or_else(String::new, |by| display_line(by, LINE)),
        ]);
    }
    output.print(&table.render())
}

pub(super) fn status(run: &str, world: &World, output: &Output) -> Result<(), Failure> {
    let help = "see `foreword workflows runs`";
    let id = RunId::new(run).map_err(|error| Failure::usage(error.to_string(), help))?;
    let workspace = world.open()?;
    let Some(stored) = Stored::open_existing(&workspace, world)? else {
        return Err(Failure::failed(format!("there is no run `{id}`"), help));
    };
    let (run, steps) = stored.wait(stored.store.workflow_run(&id))?;
    if output.wants_json() {
        let mut out = run_json(&run);
        out["steps"] = json!(steps.iter().map(step_json).collect::<Vec<_>>());
        return output.json(&out);
    }
    let by =
        run.started_by.as_deref().map_or_else(String::new, |by| format!(" by {}", display_line(by, LINE)));
    let outside = if run.tainted { "; has read text from outside" } else { "" };
    output.print(&format!(
        "{} {} {}, started {}{by}, {}{outside}",
        styled(BOLD, &run.id),
        display_line(&run.workflow, LINE),
        state(run.state),
        when(run.started_at),
        took(run.started_at, run.ended_at),
    ))?;
    for step in &steps {
        output.print(&step_lines(step))?;
    }
    if let Some(error) = &run.error {
        output.print(&format!("{} {}", styled(RED, "error:"), plain(error)))?;
    }
    if let RunState::Ended(outcome) = run.state
        && outcome != foreword_core::turn_journal::Outcome::Done
    {
        output.say(&format!("go on with: foreword workflows resume {}", run.id));
    }
    Ok(())
}

/// A step: how far it came, what it gave, and why it failed, now or before.
fn step_lines(step: &WorkflowStep) -> String {
    let given = StepOutput::of(step);
    let skipped = given.as_ref().is_some_and(|given| given.skipped);
    let state = match step_state(step) {
        StepState::Done if skipped => styled(YELLOW, "skipped"),
        StepState::Done => styled(GREEN, "done"),
        StepState::Failed => styled(RED, "failed"),
        StepState::Begun => styled(YELLOW, "begun, not ended"),
    };
    let tries = if step.attempts > 1 { format!(", try {}", step.attempts) } else { String::new() };
    let mut out = format!(
        "  {}. {} {state}{tries} {}",
        step.number,
        styled(BOLD, display_line(&step.name, LINE)),
        styled(DIM, took(step.started_at, step.ended_at)),
    );
    if let Some(given) = given.filter(|given| !given.skipped && !given.text.is_empty()) {
        out.push_str(&format!("\n     {}", plain(&given.text)));
    }
    if let Some(error) = &step.error {
        let when = if step_state(step) == StepState::Failed { "failed:" } else { "failed before:" };
        out.push_str(&format!("\n     {} {}", styled(YELLOW, when), plain(error)));
    }
    out
}

/// A text that may be anything, on one line; backticks stay, they command nothing.
fn plain(text: &str) -> String {
    display_line(text, LINE)
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
        None => "under way".to_owned(),
        Some(took) if took < Duration::from_secs(60) => format!("{:.1} s", took.as_secs_f64()),
        Some(took) => format!("{} min {} s", took.as_secs() / 60, took.as_secs() % 60),
    }
}

fn run_json(run: &WorkflowRun) -> Value {
    json!({
        "run": run.id.as_str(), "workflow": run.workflow, "state": run.state.as_str(), "parameters": run.parameters,
        "started_by": run.started_by, "started_at": run.started_at, "ended_at": run.ended_at, "output": run.output,
        "error": run.error, "tainted": run.tainted,
    })
}

fn step_json(step: &WorkflowStep) -> Value {
    let given = StepOutput::of(step);
    json!({
        "number": step.number, "name": step.name, "attempts": step.attempts, "output": given.as_ref().map(|given| &given.text),
        "skipped": given.is_some_and(|given| given.skipped), "error": step.error, "started_at": step.started_at,
        "ended_at": step.ended_at,
    })
}
