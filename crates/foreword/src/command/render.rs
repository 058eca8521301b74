//! `foreword render`: a template file once, to the byte.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use foreword_prompt::diagnostic::{TemplateError, position_of};
use foreword_prompt::layer::Dialect;
use foreword_workspace::request::Request;
use foreword_workspace::roots::Root;

use crate::cli::RenderArgs;
use crate::failure::Failure;
use crate::occasion::context;
use crate::output::Output;
use crate::world::World;

/// What a template without a file is called in messages.
const STANDARD_INPUT: &str = "<stdin>";
/// The most bytes standard input may have, as for a file.
const MOST_BYTES: u64 = 1024 * 1024;

pub(crate) fn run(args: &RenderArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let (file, pairs) = file_and_context(args)?;
    let (name, text, folder) = template(file, world)?;
    let dialect = args.dialect.map_or(workspace.snapshot().config.prompt.dialect, Dialect::from);
    let request = Request {
        agent: args.agent.as_deref().map(Into::into),
        cwd: args.cwd.as_deref().map(|cwd| world.current.join(cwd)),
        context: Arc::new(context(pairs, args.context_file.as_deref(), world)?),
        ..Request::at(world.now.clone(), world.marker)
    };
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

/// The template's name, its text, and the folder it may include from.
fn template(file: &Path, world: &World) -> Result<(String, Arc<str>, Option<Root>), Failure> {
    if file == Path::new("-") {
        return Ok((STANDARD_INPUT.to_owned(), standard_input()?, None));
    }
    let path = world.current.join(file);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(Failure::usage(
            format!("`{}` names no file", file.display()),
            "name a template file, or - for standard input",
        ));
    };
    let root = Root::open_for("template's", folder, "the command line")?;
    let text = root.read(name)?.text;
    Ok((name.to_owned(), text, Some(root)))
}

fn standard_input() -> Result<Arc<str>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        Failure::failed(format!("can't read standard input: {error}"), "pipe a template into it")
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(unusable("standard input has more than 1 MiB", "split the template", ("", 0)));
    }
    let save = "save the template as UTF-8 text";
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        unusable(&format!("standard input is not UTF-8: byte {at} does not fit"), save, (&text, at))
    })?;
    if let Some(at) = text.find('\0') {
        return Err(unusable("standard input is not text: it has a NUL byte", save, (&text, at)));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(foreword_prompt::text::normalise_line_ends(text).as_ref().into())
}

/// A template that is refused before it is parsed, as a file like it would be.
fn unusable(message: &str, help: &str, (text, offset): (&str, usize)) -> Failure {
    let error = TemplateError {
        file: STANDARD_INPUT.into(),
        at: position_of(text, offset),
        message: message.to_owned(),
        help: Some(help.to_owned()),
        span: None,
        text: text.into(),
    };
    Failure::Refused(error.into())
}
