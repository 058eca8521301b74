//! `write_file`: gives a text file of the workspace a new text, whole or not at all. Never through a link, never outside,
//! never into `.foreword/`, and never a configuration that would be refused.

use foreword_prompt::untrusted::{plain_words, single_line};
use foreword_workspace::config::{CONFIG_FILE, Config};
use foreword_workspace::document::DocumentError;
use serde_json::{Map, Value};

use super::file_access::{FileAccess, plain};
use super::given::Given;
use super::limits::counted;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

/// How much of a path is shown.
const PATH_CHARS: usize = 200;
/// How many problems of a configuration are told at once.
const MOST_PROBLEMS: usize = 10;

/// Writes a text file.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteFile;

impl Tool for WriteFile {
    fn name(&self) -> &'static str {
        "write_file"
    }

    fn has_side_effects(&self) -> bool {
        true
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        Box::pin(async move {
            // What has begun is finished even if nobody waits any more: a file is replaced whole or not at all.
            let write = tokio::task::spawn_blocking(move || write(&Given::new(arguments), &call));
            match write.await {
                Ok(Ok(output) | Err(output)) => output,
                Err(_) => ToolOutput::failed("writing was cut off: read the file before you try again"),
            }
        })
    }
}

fn write(given: &Given, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let (path, text) = (given.text("path")?, given.text("text")?);
    let shown = single_line(path, PATH_CHARS);
    if let Some(offset) = text.find('\0') {
        return Err(ToolOutput::failed(format!(
            "the text has a NUL character at byte {offset}: files written here are plain text, so leave it out"
        )));
    }
    let access = FileAccess::of(call);
    if access.is_database(path) {
        return Err(ToolOutput::failed(format!(
            "`{shown}` is the database and is never written: name another file"
        )));
    }
    if !access.may_write(path) {
        return Err(ToolOutput::failed(format!("`{shown}` may not be written at `{}` trust", call.trust)));
    }
    // Whatever the owner calls sensitive: what prompts are made of is not for a turn that has read text from outside.
    if call.tainted && !call.confirmed && access.is_of_the_prompt(&plain(path)) {
        return Err(ToolOutput::failed(format!(
            "`{shown}` is part of what prompts are made of, and this turn has read text from outside: only the owner \
             can allow that. Say what you would have written."
        )));
    }
    if plain(path) == CONFIG_FILE {
        Config::parse_at(CONFIG_FILE, text, &call.snapshot.config.home)
            .map_err(|problems| refused(&problems))?;
    }
    match call.snapshot.files().root.write(path, text, call.random) {
        Ok(written) => {
            let what = if written.is_new { "a new file" } else { "which replaced what was there" };
            let bytes = counted(written.bytes, "byte");
            Ok(ToolOutput::ours(format!("wrote {bytes} to `{shown}`, {what}")))
        }
        Err(error) => {
            Err(ToolOutput::failed(format!("cannot write `{shown}`: {}; {}", error.reason, error.help())))
        }
    }
}

fn refused(problems: &[DocumentError]) -> ToolOutput {
    let mut text = format!("`{CONFIG_FILE}` was not written: it would be refused\n");
    for problem in problems.iter().take(MOST_PROBLEMS) {
        text.push_str(&format!("\n{problem}\n{}\n", problem.excerpt()));
        if let Some(help) = &problem.help {
            text.push_str(&format!("help: {help}\n"));
        }
    }
    if problems.len() > MOST_PROBLEMS {
        text.push_str(&format!("\nand {} more\n", problems.len() - MOST_PROBLEMS));
    }
    // It repeats lines of a text that may hold anything, line ends of other kinds too.
    let ends = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    ToolOutput::failed(plain_words(&text.replace(ends, " ")))
}
