//! `foreword render`: renders a template file once and prints the exact result.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use foreword_prompt::layer::Dialect;
use foreword_workspace::build::TemplateInput;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;

use crate::cli::RenderArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::context;
use crate::output::Output;
use crate::process_context::ProcessContext;
use crate::text_input;

pub(crate) fn run(args: &RenderArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let (file, pairs) = file_and_context(args)?;
    let text_input::Text { name, text, folder } = text_input::read(file, process)?;
    let dialect = args.dialect.map_or(workspace.snapshot().config.prompt.dialect, Dialect::from);
    let context = context(pairs, args.context_file.as_deref(), process)?;
    let request = Request {
        speaker: Speaker { agent: args.agent.as_deref().map(Into::into), ..Speaker::default() },
        cwd: args.cwd.as_deref().map(|cwd| process.current.join(cwd)),
        context: Arc::new(context),
        ..Request::at(process.now.clone(), process.marker)
    };
    Names { agent: args.agent.as_deref(), ..Names::default() }.warn(&workspace.snapshot().config, output);
    let template = TemplateInput { name: &name, text, dialect, folder: folder.as_ref() };
    let rendered = workspace.render_template(template, &request)?;
    for warning in &rendered.warnings {
        output.warn(&warning.message);
    }
    if output.wants_json() {
        output.json(&serde_json::json!({ "text": rendered.text, "warnings": rendered.warnings }))?;
    } else {
        output.print_exact(&rendered.text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `--context` takes any number of values, so a file after it is parsed as one of them.
fn file_and_context(args: &RenderArgs) -> Result<(&Path, &[String]), Failure> {
    match (&args.file, args.context.split_last()) {
        (Some(file), _) => Ok((file, &args.context)),
        (None, Some((last, pairs))) if !last.contains('=') => Ok((Path::new(last), pairs)),
        (None, _) => Err(Failure::usage(
            "no template given",
            "use `foreword render FILE --context K=V`, or - for standard input",
        )),
    }
}
