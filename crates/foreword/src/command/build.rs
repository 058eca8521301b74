//! `foreword build`: the prompt for an occasion, as text, as a report, or as the body of a provider's request.

use std::process::ExitCode;

use foreword_agent::prompt::request_format::{anthropic, openai};
use foreword_prompt::report::{Report, View};

use crate::cli::{BuildArgs, Format};
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{context_fits, request};
use crate::output::Output;
use crate::process_context::ProcessContext;
use crate::workspace_store;

pub(crate) fn run(args: &BuildArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let request = request(&args.occasion, &workspace, process)?;
    context_fits(&request, &workspace)?;
    Names::from(&args.occasion).warn(&workspace.snapshot().config, output);
    let built = workspace_store::build(&workspace, &request, process)?;
    let report = Report::of(&built.prompt, View::Principal);
    let format = args.format.unwrap_or(if output.wants_json() { Format::Json } else { Format::Text });
    // The user of this command is the owner, so warnings are shown for every prompt. JSON already contains
    // them.
    for warning in &built.prompt.facts.warnings {
        if format != Format::Json || !report.warnings.contains(warning) {
            output.warn(&warning.message);
        }
    }
    match format {
        Format::Text => {
            if built.prompt.is_empty() {
                output.print_stderr("the prompt is empty: nothing would be sent");
            }
            output.print_exact(&built.prompt.text())?;
        }
        Format::Json => output.json(&report)?,
        Format::Anthropic => output.json(&anthropic(&built))?,
        Format::Openai => output.json(&openai(&built))?,
    }
    Ok(ExitCode::SUCCESS)
}
