//! `foreword build`: the prompt for an occasion, as text, as a report, or as the body of a provider's request.

use std::process::ExitCode;

use foreword_agent::lowering::{anthropic, openai};
use foreword_prompt::report::{Report, View};

use crate::cli::{BuildArgs, Format};
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{context_fits, request};
use crate::output::Output;
use crate::world::World;

pub(crate) fn run(args: &BuildArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let request = request(&args.occasion, &workspace, world)?;
    context_fits(&request, &workspace)?;
    Names::from(&args.occasion).warn(&workspace.snapshot().config, output);
    let built = workspace.build(&request)?;
    let report = Report::of(&built.prompt, View::Principal);
    let format = args.format.unwrap_or(if output.wants_json() { Format::Json } else { Format::Text });
    // Whoever runs this is the owner, whoever the prompt is for; what JSON tells already is not told twice.
    for warning in &built.prompt.facts.warnings {
        if format != Format::Json || !report.warnings.contains(warning) {
            output.warn(&warning.message);
        }
    }
    match format {
        Format::Text => {
            if built.prompt.is_empty() {
                output.say("this prompt is empty: nothing would be sent");
            }
            output.exactly(&built.prompt.text())?;
        }
        Format::Json => output.json(&report)?,
        Format::Anthropic => output.json(&anthropic(&built))?,
        Format::Openai => output.json(&openai(&built))?,
    }
    Ok(ExitCode::SUCCESS)
}
