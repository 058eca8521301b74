//! `foreword simulate`: estimates the cost of a conversation. Parses the arguments and prints the result;
//! `foreword_agent::reports::simulation` does the computation.

mod screen;

use std::process::ExitCode;

use foreword_agent::reports::simulation::{Simulation, SimulationError, SimulationParams};
use foreword_core::simulate::BadScenario;

use crate::cli::simulate::SimulateArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{context_fits, request};
use crate::output::Output;
use crate::process_context::ProcessContext;

pub(crate) fn run(
    args: &SimulateArgs,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let request = request(&args.occasion(), &workspace, process)?;
    context_fits(&request, &workspace)?;
    Names::from(&args.occasion()).warn(&workspace.snapshot().config, output);
    let simulation = Simulation::run(&workspace, &request, simulation_params(args)).map_err(refused)?;
    if output.wants_json() {
        output.json(&simulation.report())?;
    } else {
        output.print(&screen::text(&simulation))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn simulation_params(args: &SimulateArgs) -> SimulationParams {
    SimulationParams {
        turns: args.turns,
        message_tokens: args.message_tokens,
        answer_tokens: args.answer_tokens,
        tool_rounds: args.tool_rounds,
        tool_tokens: args.tool_tokens,
        pause: args.pause.value.clone(),
        pause_text: args.pause.text.clone(),
        night_every: args.night_every,
        edit_every: args.edit_every,
        ttl: args.ttl.map(Into::into),
        idle: args.idle,
        models: args.models.clone(),
    }
}

fn refused(why: SimulationError) -> Failure {
    let words = why.to_string();
    match why {
        SimulationError::Workspace(error) => error.into(),
        SimulationError::NoPrice { near, .. } => {
            let near = near.map(|near| format!("did you mean `{near}`? else ")).unwrap_or_default();
            Failure::usage(words, format!("{near}set them in `prices` in foreword.yaml, see docs/models.md"))
        }
        SimulationError::Scenario { error, strategy, model } => match error {
            BadScenario::Turns { .. } => Failure::usage(words, "write it as --turns 100"),
            BadScenario::Rounds { .. } => Failure::usage(words, "write it as --tool-rounds 4"),
            BadScenario::Tokens { .. } => {
                Failure::usage(words, "lower --message-tokens, --answer-tokens or --tool-tokens")
            }
            BadScenario::EditEvery => Failure::usage(words, "write it as --edit-every 20"),
            BadScenario::Overflow { .. } | BadScenario::Refused(_) => Failure::failed(
                format!("{} with `{model}`: {words}", strategy.title()),
                "use fewer tokens in a turn, `agent.compaction.share` in foreword.yaml, or a model with a larger window",
            ),
        },
    }
}
