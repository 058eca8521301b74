//! `read_file`: numbered lines of a text file in the workspace. The file rules are checked for the written and for the
//! resolved path. Refuses folders, binary files and files outside the workspace.

use foreword_core::event::Event;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::config::CONFIG_FILE;
use foreword_workspace::document::without_secrets;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::roots::CheckedRead;
use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::file_access::FileAccess;
use super::limits::{OutputLimits, counted, truncated};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

const NAME: &str = "read_file";
/// The maximum length of a path.
const PATH_CHARS: usize = 200;

/// The tool `read_file`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadFile {
    limits: OutputLimits,
}

impl ReadFile {
    /// The tool, with these limits.
    #[must_use]
    pub fn new(limits: OutputLimits) -> Self {
        Self { limits }
    }
}

impl Tool for ReadFile {
    fn name(&self) -> &'static str {
        NAME
    }

    fn has_side_effects(&self) -> bool {
        false
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        let limits = self.limits;
        Box::pin(async move {
            // Blocking: the disk may be slow.
            let read = tokio::task::spawn_blocking(move || read(&Arguments::new(arguments), &call, limits));
            match read.await {
                Ok(Ok(output) | Err(output)) => output,
                Err(_) => ToolOutput::failed("reading was cut off: try again"),
            }
        })
    }
}

fn read(arguments: &Arguments, call: &ToolCall, limits: OutputLimits) -> Result<ToolOutput, ToolOutput> {
    let path = arguments.text("path")?;
    let from = arguments.optional_number("from", 1)?;
    let lines = arguments.optional_number("lines", 1)?;
    let access = FileAccess::of(call);
    let withheld = || ToolOutput::failed(format!("`{}` is not for this conversation", display_path(path)));
    // Checked by path first, whether or not the file exists, so that the answer does not reveal its existence.
    if !access.may_read(path) {
        return Err(withheld());
    }
    let judged = call.snapshot.files().root.read_checked(path, |real| access.may_read(real));
    let (real_path, file) = match judged {
        Ok(CheckedRead::Text { real_path, file }) => (real_path, file),
        Ok(CheckedRead::Withheld) => return Err(withheld()),
        // A folder whose files are withheld is reported as missing too: its name may be private.
        Err(error) if error.is_missing_file() || !access.may_read(&format!("{path}/any")) => {
            return Err(ToolOutput::failed(format!(
                "there is no file `{}`: paths begin at the workspace's root, as in `memory/shared/trips.md`",
                display_path(path)
            )));
        }
        Err(error) => return Err(refused(path, &error)),
    };
    let wanted = Wanted { path, from: as_usize(from, 1), lines: as_usize(lines, usize::MAX) };
    // The model may not see keys in the configuration.
    let text = if real_path == CONFIG_FILE { without_secrets(&file.text).into() } else { file.text };
    let (text, event) = wanted.page(&text, call, limits)?;
    let mut output = ToolOutput::trusted(text);
    output.from_outside = !access.is_of_the_prompt(&real_path);
    output.events.extend(event);
    Ok(output)
}

/// Without the workspace's path, which is private.
fn refused(path: &str, error: &WorkspaceError) -> ToolOutput {
    let reason = match error {
        WorkspaceError::Access(access) => access.reason.to_string(),
        other => other.to_string(),
    };
    let help = error.help().unwrap_or_default();
    ToolOutput::failed(format!("cannot read `{}`: {reason}; {help}", display_path(path)))
}

fn as_usize(number: Option<u64>, otherwise: usize) -> usize {
    number.map_or(otherwise, |number| usize::try_from(number).unwrap_or(usize::MAX))
}

fn display_path(path: &str) -> String {
    single_line(path, PATH_CHARS)
}

/// A range of lines in a file.
struct Wanted<'a> {
    path: &'a str,
    from: usize,
    lines: usize,
}

/// The lines that fit.
struct NumberedLines {
    /// The lines with their numbers.
    body: String,
    /// The number of the last line.
    last: usize,
    /// The number of bytes of the file in it.
    kept: usize,
}

impl Wanted<'_> {
    /// The lines with their numbers, and an event if some were omitted.
    fn page(
        &self,
        text: &str,
        call: &ToolCall,
        limits: OutputLimits,
    ) -> Result<(String, Option<Event>), ToolOutput> {
        let total = text.lines().count();
        let path = display_path(self.path);
        if total == 0 {
            return Ok((format!("`{path}` is empty"), None));
        }
        if self.from > total {
            let lines = counted(total, "line");
            return Err(ToolOutput::failed(format!(
                "`{path}` has {lines}: give a `from` of at most {total}"
            )));
        }
        let end = self.from.saturating_add(self.lines.saturating_sub(1)).min(total);
        let NumberedLines { body, last, kept } = self.numbered(text, end, limits);
        let head = format!("`{path}`, lines {} to {last} of {total}:\n", self.from);
        let cut = text.lines().nth(last - 1).is_some_and(|line| line.len() > limits.bytes);
        let mut page = head + &body;
        if cut {
            page.push_str(
                "[the last line is too long to be shown whole; `bash` with `cut -c` shows the rest]\n",
            );
        }
        if last < end {
            page.push_str(&self.continuation_hint(last + 1, end));
        }
        let wanted: usize =
            text.split_inclusive('\n').skip(self.from - 1).take(end + 1 - self.from).map(str::len).sum();
        let event = (cut || last < end).then(|| truncated(call, NAME, wanted, kept));
        Ok((page, event))
    }

    /// The lines from the first requested one on, as many as fit but at least one.
    fn numbered(&self, text: &str, end: usize, limits: OutputLimits) -> NumberedLines {
        let (mut body, mut last, mut kept) = (String::new(), self.from, 0);
        let numbers = self.from..=end;
        let lines = text.lines().zip(text.split_inclusive('\n'));
        for (number, (line, whole)) in numbers.zip(lines.skip(self.from - 1)) {
            let is_first = number == self.from;
            let fits = number - self.from < limits.lines && body.len() + line.len() <= limits.bytes;
            if !is_first && !fits {
                break;
            }
            let end = line.floor_char_boundary(limits.bytes);
            body.push_str(&format!("{number}\t{}\n", &line[..end]));
            last = number;
            kept += if end < line.len() { end } else { whole.len() };
        }
        NumberedLines { body, last, kept }
    }

    /// How to read the next lines, as a callable suggestion.
    fn continuation_hint(&self, from: usize, end: usize) -> String {
        let lines = end + 1 - from;
        // A path that needs escaping could not be passed to the tool as shown.
        let exact = display_path(self.path) == self.path && !self.path.contains(['"', '\\']);
        if exact {
            format!(
                "[lines {from} to {end} are left out; read them with read_file(\"{}\", {from}, {lines})]\n",
                self.path
            )
        } else {
            format!(
                "[lines {from} to {end} are left out; read the same path with from {from} and lines {lines}]\n"
            )
        }
    }
}
