//! Running a workflow from the command line, and going on with one that failed.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::inbound::{Occasion, Watched};
use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_agent::workflows::{ResumeWorkflow, RunEnd, StartWorkflow};
use foreword_core::id::RunId;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_core::workflow::Resume;
use foreword_prompt::occasion::Channel;
use foreword_workspace::document::YamlSource;
use foreword_workspace::workflows::from_words;
use serde_json::{Map, Value, json};

use super::named;
use super::watch::{Seen, watched};
use crate::chat::one_line::{exposed, harmless};
use crate::cli::workflows::{ResumeArgs, RunArgs};
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::oddities;
use crate::output::Output;
use crate::running::Running;
use crate::text_input;
use crate::world::World;

pub(super) fn run(args: &RunArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let parameters = parameters(args, world)?;
    let running = Running::start(world)?;
    let text = |word: &Option<String>| word.as_deref().map(Arc::from);
    let occasion = Occasion {
        user: text(&args.who.user),
        channel: args.who.channel.as_deref().map(Channel::new),
        situation: text(&args.who.situation),
        watched: Watched::AtScreen,
        ..Occasion::default()
    };
    let config = Arc::clone(&running.workspace.snapshot().config);
    let odd = oddities(args.who.user.as_deref(), args.who.situation.as_deref(), &config);
    Names::from(&args.who.occasion()).warn(&config, output);
    odd.iter().for_each(|odd| output.warn(odd));
    let surroundings: &dyn Surroundings = &Machine;
    let run: RunId = surroundings
        .id("run")
        .map_err(|error| Failure::failed(format!("no name for this run: {error}"), "report this"))?;
    let start =
        StartWorkflow { parameters, run: Some(run.clone()), ..StartWorkflow::new(&args.name, occasion) };
    let seen = running.wait(watched(&running.agent, &run, output, running.agent.run_workflow(start)));
    let result = told(seen, &run, output);
    running.stop();
    result
}

pub(super) fn resume(args: &ResumeArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let run = RunId::new(&args.run)
        .map_err(|error| Failure::usage(error.to_string(), "see `foreword workflows runs`"))?;
    let how = match (args.redo, args.skip) {
        (true, _) => Resume::Redo,
        (false, true) => Resume::Skip,
        (false, false) => Resume::Plain,
    };
    let running = Running::start(world)?;
    let resume = ResumeWorkflow { run: run.clone(), how, force: args.force };
    let seen = running.wait(watched(&running.agent, &run, output, running.agent.resume_workflow(resume)));
    let result = told(seen, &run, output);
    running.stop();
    result
}

/// The parameters of the file, and over them those of the command line.
fn parameters(args: &RunArgs, world: &World) -> Result<Map<String, Value>, Failure> {
    let workspace = world.open()?;
    let snapshot = workspace.snapshot();
    let workflow = named(&snapshot.workflows().items, &args.name)?;
    let mut given = match &args.parameters_file {
        None => Map::new(),
        Some(file) => {
            let text = text_input::read(file, world)?;
            YamlSource::whole(&text.name, text.text)
                .parse()
                .map_err(|error| Failure::Problems(vec![error]))?
        }
    };
    let help = format!("see `foreword workflows show {}`", workflow.name);
    given.extend(
        from_words(workflow, &args.parameters).map_err(|error| Failure::usage(error.to_string(), help))?,
    );
    Ok(given)
}

/// What came of it: the output on standard output, or what failed, what was done, and how to go on.
fn told(seen: Result<Seen, Failure>, run: &RunId, output: &Output) -> Result<ExitCode, Failure> {
    let end = match seen? {
        Seen::Ended(end) => end,
        Seen::Left => {
            let help = format!(
                "`foreword workflows status {run}` shows how far it came; `foreword workflows resume {run}` goes on, half \
                 a minute from now"
            );
            return Err(Failure::failed("stopped while a step was under way", help));
        }
    };
    if output.wants_json() {
        output.json(&end_json(&end))?;
        return Ok(ExitCode::from(u8::from(end.outcome != Outcome::Done)));
    }
    if end.outcome == Outcome::Done {
        output.exactly(&format!("{}\n", harmless(end.output.trim_end_matches('\n'))))?;
        return Ok(ExitCode::SUCCESS);
    }
    let done: Vec<&str> = end.steps.iter().filter(|step| step.done).map(|step| step.name.as_str()).collect();
    let done = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
    let error = end.error.as_deref().unwrap_or("it was stopped");
    let message = format!("{}: {} (done before that: {done})", end.workflow, exposed(error));
    let help = format!(
        "`foreword workflows resume {run}` goes on from there; `foreword workflows status {run}` shows it"
    );
    Err(Failure::failed(message, help))
}

fn end_json(end: &RunEnd) -> Value {
    let step = |step: &foreword_agent::workflows::StepEnd| json!({ "name": step.name, "done": step.done, "output": step.output, "error": step.error });
    json!({
        "run": end.run.as_str(), "workflow": end.workflow, "outcome": TurnState::Ended(end.outcome).as_str(),
        "output": end.output, "error": end.error, "tainted": end.tainted,
        "steps": end.steps.iter().map(step).collect::<Vec<_>>(),
    })
}
