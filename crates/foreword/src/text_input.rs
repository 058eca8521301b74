//! Reads a text that the command line names: a file, with the same checks as workspace files, or standard input.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use foreword_prompt::diagnostic::{TemplateError, position_of};
use foreword_workspace::roots::Root;

use crate::failure::Failure;
use crate::process_context::ProcessContext;

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "<stdin>";
/// The maximum size of standard input, the same as for a file.
const MAX_BYTES: u64 = 1024 * 1024;

/// A text named on the command line.
#[derive(Debug)]
pub(crate) struct Text {
    /// Its name in messages.
    pub(crate) name: String,
    /// The text, with `\n` line ends.
    pub(crate) text: Arc<str>,
    /// The file's folder; `None` for standard input.
    pub(crate) folder: Option<Root>,
}

/// Reads `file`, or standard input if that is `-`.
pub(crate) fn read(file: &Path, process: &ProcessContext) -> Result<Text, Failure> {
    if file == Path::new("-") {
        return Ok(Text { name: STANDARD_INPUT.to_owned(), text: standard_input()?, folder: None });
    }
    let path = process.current.join(file);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(Failure::usage(
            format!("`{}` is not a file name", file.display()),
            "name a text file, or - for standard input",
        ));
    };
    let root = Root::open_for("template's", folder, "the command line")?;
    let text = root.read(name)?.text;
    Ok(Text { name: name.to_owned(), text, folder: Some(root) })
}

fn standard_input() -> Result<Arc<str>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        Failure::failed(format!("can't read standard input: {error}"), "pipe UTF-8 text into it")
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unusable("standard input has more than 1 MiB", "split the template", "", 0));
    }
    let save = "save the template as UTF-8 text";
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        unusable(&format!("standard input is not UTF-8: invalid byte at {at}"), save, &text, at)
    })?;
    if let Some(at) = text.find('\0') {
        return Err(unusable("standard input is not text: it has a NUL byte", save, &text, at));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(foreword_prompt::text::normalise_line_ends(text).as_ref().into())
}

/// An error for a template that can't be parsed, with the position of the problem.
fn unusable(message: &str, help: &str, text: &str, offset: usize) -> Failure {
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
