//! Runs a workflow from the command line, or resumes a failed run.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::background::workflows::{ResumeWorkflow, RunEnd, StartWorkflow};
use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::conversation::inbound::{Attendance, TurnOrigin};
use foreword_core::id::RunId;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_core::workflow::Resume;
use foreword_prompt::occasion::Channel;
use foreword_workspace::document::YamlSource;
use foreword_workspace::speaker::Speaker;
use foreword_workspace::workflows::parse_arguments;
use serde_json::{Map, Value, json};

use super::named;
use super::watch::{WatchResult, watched};
use crate::chat::one_line::{escape_invisible, strip_control_sequences};
use crate::chat::settings::from_args;
use crate::cli::workflows::{ResumeArgs, RunArgs};
use crate::failure::{Failure, at_terminal};
use crate::name_hints::Names;
use crate::occasion::unknown_name_warnings;
use crate::output::Output;
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;
use crate::text_input;

pub(super) fn run(args: &RunArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let parameters = parameters(args, process)?;
    let settings = from_args(&args.settings, args.cwd.as_deref(), process)?;
    let running = RunningAgent::start(process)?;
    let text = |word: &Option<String>| word.as_deref().map(Arc::from);
    let occasion = TurnOrigin {
        speaker: Speaker {
            user: text(&args.who.user),
            channel: args.who.channel.as_deref().map(Channel::new),
            situation: text(&args.who.situation),
            ..Speaker::default()
        },
        attendance: Attendance::Interactive,
        ..TurnOrigin::default()
    };
    let config = Arc::clone(&running.workspace.snapshot().config);
    let odd = unknown_name_warnings(args.who.user.as_deref(), args.who.situation.as_deref(), &config);
    Names::from(&args.who.occasion()).warn(&config, output);
    odd.iter().for_each(|odd| output.warn(odd));
    let clock_and_rng: &dyn ClockAndRng = &Machine;
    let run: RunId = clock_and_rng.id("run").map_err(|error| {
        Failure::failed(format!("can't create an id for this run: {error}"), "report this bug")
    })?;
    let start = StartWorkflow {
        parameters,
        settings,
        run: Some(run.clone()),
        ..StartWorkflow::new(&args.name, occasion)
    };
    let seen = running.wait(watched(&running.agent, &run, output, running.agent.run_workflow(start)));
    let result = print_result(seen, &run, output);
    running.stop();
    result
}

pub(super) fn resume(
    args: &ResumeArgs,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let run = RunId::new(&args.run)
        .map_err(|error| Failure::usage(error.to_string(), "see `foreword workflows runs`"))?;
    let how = match (args.redo, args.skip) {
        (true, _) => Resume::Redo,
        (false, true) => Resume::Skip,
        (false, false) => Resume::Plain,
    };
    let running = RunningAgent::start(process)?;
    let resume = ResumeWorkflow { run: run.clone(), how, force: args.force };
    let seen = running.wait(watched(&running.agent, &run, output, running.agent.resume_workflow(resume)));
    let result = print_result(seen, &run, output);
    running.stop();
    result
}

/// The parameters of the file, overridden by those of the command line.
fn parameters(args: &RunArgs, process: &ProcessContext) -> Result<Map<String, Value>, Failure> {
    let workspace = process.open()?;
    let snapshot = workspace.snapshot();
    let workflow = named(&snapshot.workflows().items, &args.name)?;
    let mut given = match &args.parameters_file {
        None => Map::new(),
        Some(file) => {
            let text = text_input::read(file, process)?;
            YamlSource::whole(&text.name, text.text)
                .parse()
                .map_err(|error| Failure::Problems(vec![error]))?
        }
    };
    let help = format!("see `foreword workflows show {}`", workflow.name);
    given.extend(
        parse_arguments(workflow, &args.parameters)
            .map_err(|error| Failure::usage(error.to_string(), help))?,
    );
    Ok(given)
}

/// Prints the output to standard output, or the failed step and how to resume.
fn print_result(
    seen: Result<WatchResult, Failure>,
    run: &RunId,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let end = match seen? {
        WatchResult::Ended(end) => end,
        WatchResult::Left => {
            let help = format!(
                "see `foreword workflows status {run}`; resume it with `foreword workflows resume {run}`, half \
                 a minute from now"
            );
            return Err(Failure::failed("stopped during a step", help));
        }
    };
    if output.wants_json() {
        output.json(&end_json(&end))?;
        return Ok(ExitCode::from(u8::from(end.outcome != Outcome::Done)));
    }
    if end.outcome == Outcome::Done {
        output.print_exact(&format!("{}\n", strip_control_sequences(end.output.trim_end_matches('\n'))))?;
        return Ok(ExitCode::SUCCESS);
    }
    let done: Vec<&str> = end.steps.iter().filter(|step| step.done).map(|step| step.name.as_str()).collect();
    let done = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
    let error = end.error.as_ref().map_or("stopped", at_terminal);
    let message = format!("{}: {} (done before that: {done})", end.workflow, escape_invisible(error));
    let help =
        format!("resume it with `foreword workflows resume {run}`; see `foreword workflows status {run}`");
    Err(Failure::failed(message, help))
}

fn end_json(end: &RunEnd) -> Value {
    let step = |step: &foreword_agent::background::workflows::StepEnd| json!({ "name": step.name, "done": step.done, "output": step.output, "error": step.error.as_ref().map(at_terminal) });
    json!({
        "run": end.run.as_str(), "workflow": end.workflow, "outcome": TurnState::Ended(end.outcome).as_str(),
        "output": end.output, "error": end.error.as_ref().map(at_terminal), "tainted": end.tainted,
        "steps": end.steps.iter().map(step).collect::<Vec<_>>(),
    })
}
