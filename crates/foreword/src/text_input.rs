//! Texts that are named on the command line: a file, read as guarded as any other, or standard input.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use foreword_prompt::diagnostic::{TemplateError, position_of};
use foreword_workspace::roots::Root;

use crate::failure::Failure;
use crate::world::World;

/// What a text without a file is called in messages.
const STANDARD_INPUT: &str = "<stdin>";
/// The most bytes standard input may have, as for a file.
const MOST_BYTES: u64 = 1024 * 1024;

/// A text that was named on the command line.
#[derive(Debug)]
pub(crate) struct Text {
    /// What it is called in messages.
    pub(crate) name: String,
    /// The text, with `\n` line ends.
    pub(crate) text: Arc<str>,
    /// The folder it is in, unless it was typed or piped.
    pub(crate) folder: Option<Root>,
}

/// The text in `file`, or on standard input if that is `-`.
pub(crate) fn read(file: &Path, world: &World) -> Result<Text, Failure> {
    if file == Path::new("-") {
        return Ok(Text { name: STANDARD_INPUT.to_owned(), text: standard_input()?, folder: None });
    }
    let path = world.current.join(file);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(Failure::usage(
            format!("`{}` names no file", file.display()),
            "name a text file, or - for standard input",
        ));
    };
    let root = Root::open_for("template's", folder, "the command line")?;
    let text = root.read(name)?.text;
    Ok(Text { name: name.to_owned(), text, folder: Some(root) })
}

fn standard_input() -> Result<Arc<str>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        Failure::failed(format!("can't read standard input: {error}"), "pipe a text into it")
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
