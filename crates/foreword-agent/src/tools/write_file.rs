//! `write_file`: replaces the text of a workspace file atomically. Never follows links, never writes outside the
//! workspace or into `.foreword/`, and refuses an invalid configuration.

use foreword_prompt::untrusted::{sanitize_message, single_line};
use foreword_workspace::config::{CONFIG_FILE, Config, plain};
use foreword_workspace::document::DocumentError;

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use super::file_access::FileAccess;
use super::limits::counted;
use crate::tool::{ToolCall, ToolOutput};

/// The maximum length of a path.
const PATH_CHARS: usize = 200;
/// The maximum number of reported configuration problems.
const MAX_PROBLEMS: usize = 10;

/// The tool `write_file`.
pub(super) fn tool() -> BuiltinTool {
    let run = |arguments: Arguments, call: ToolCall| async move {
        // A started write finishes even if the caller stops waiting: a file is replaced completely or not at all.
        let done = tokio::task::spawn_blocking(move || write(&arguments, &call)).await;
        done.unwrap_or_else(|_| {
            Err(ToolOutput::failed("writing was cut off: read the file before you try again"))
        })
    };
    BuiltinTool::new("write_file", run).with_side_effects()
}

fn write(arguments: &Arguments, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let (path, text) = (arguments.text("path")?, arguments.text("text")?);
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
    // Regardless of the owner's list of sensitive tools, a turn that has read text from outside may not write prompt
    // sources.
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
            Ok(ToolOutput::trusted(format!("wrote {bytes} to `{shown}`, {what}")))
        }
        Err(error) => {
            Err(ToolOutput::failed(format!("cannot write `{shown}`: {}; {}", error.reason, error.help())))
        }
    }
}

fn refused(problems: &[DocumentError]) -> ToolOutput {
    let mut text = format!("`{CONFIG_FILE}` was not written: it would be refused\n");
    for problem in problems.iter().take(MAX_PROBLEMS) {
        text.push_str(&format!("\n{problem}\n{}\n", problem.excerpt()));
        if let Some(help) = &problem.help {
            text.push_str(&format!("help: {help}\n"));
        }
    }
    if problems.len() > MAX_PROBLEMS {
        text.push_str(&format!("\nand {} more\n", problems.len() - MAX_PROBLEMS));
    }
    // The message repeats lines of an arbitrary text, which may contain other line separators.
    let ends = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    ToolOutput::failed(sanitize_message(&text.replace(ends, " ")))
}
