//! `foreword render`: a template file once, to the byte.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use foreword_prompt::layer::Dialect;
use foreword_workspace::request::Request;

use crate::cli::RenderArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::context;
use crate::output::Output;
use crate::text_input;
use crate::world::World;

pub(crate) fn run(args: &RenderArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let (file, pairs) = file_and_context(args)?;
    let text_input::Text { name, text, folder } = text_input::read(file, world)?;
    let dialect = args.dialect.map_or(workspace.snapshot().config.prompt.dialect, Dialect::from);
    let context = context(pairs, args.context_file.as_deref(), world)?;
    let request = Request {
        agent: args.agent.as_deref().map(Into::into),
        cwd: args.cwd.as_deref().map(|cwd| world.current.join(cwd)),
        context: Arc::new(context.values),
        ordered_context: Some(Arc::new(context.ordered)),
        ..Request::at(world.now.clone(), world.marker)
    };
    Names { agent: args.agent.as_deref(), ..Names::default() }.warn(&workspace.snapshot().config, output);
    let rendered = workspace.render_template(&name, text, dialect, (folder.as_ref(), &request))?;
    for warning in &rendered.warnings {
        output.warn(&warning.message);
    }
    if output.wants_json() {
        output.json(&serde_json::json!({ "text": rendered.text, "warnings": rendered.warnings }))?;
    } else {
        output.exactly(&rendered.text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `--context` takes as many values as there are, so a file named after them is found among them.
fn file_and_context(args: &RenderArgs) -> Result<(&Path, &[String]), Failure> {
    match (&args.file, args.context.split_last()) {
        (Some(file), _) => Ok((file, &args.context)),
        (None, Some((last, pairs))) if !last.contains('=') => Ok((Path::new(last), pairs)),
        (None, _) => Err(Failure::usage(
            "no template is named",
            "foreword render FILE --context K=V, or - for standard input",
        )),
    }
}
