//! `read_file`: lines of a text file of the workspace, numbered, as it is now. The rules for files are asked of the name
//! that was written and of the file it leads to. Reads no folder, no binary file and nothing outside.

use foreword_core::event::Event;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::config::CONFIG_FILE;
use foreword_workspace::document::without_secrets;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::roots::Judged;
use serde_json::{Map, Value};

use super::file_access::FileAccess;
use super::given::Given;
use super::limits::{OutputLimits, counted, truncated};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

const NAME: &str = "read_file";
/// How much of a path is shown.
const PATH_CHARS: usize = 200;

/// Reads a text file.
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
            // Files may lie on a slow disk, and other turns have to go on meanwhile.
            let read = tokio::task::spawn_blocking(move || read(&Given::new(arguments), &call, limits));
            match read.await {
                Ok(Ok(output) | Err(output)) => output,
                Err(_) => ToolOutput::failed("reading was cut off: try again"),
            }
        })
    }
}

fn read(given: &Given, call: &ToolCall, limits: OutputLimits) -> Result<ToolOutput, ToolOutput> {
    let path = given.text("path")?;
    let from = given.optional_number("from", 1)?;
    let lines = given.optional_number("lines", 1)?;
    let access = FileAccess::of(call);
    let withheld = || ToolOutput::failed(format!("`{}` is not for this conversation", shown(path)));
    // By name first, whether or not there is such a file: the answer says nothing about what is there.
    if !access.may_read(path) {
        return Err(withheld());
    }
    let judged = call.snapshot.files().root.read_judged(path, |real| access.may_read(real));
    let (real_path, file) = match judged {
        Ok(Judged::Text { real_path, file }) => (real_path, file),
        Ok(Judged::Withheld) => return Err(withheld()),
        // A folder whose files are withheld is not there either: its name may be somebody's.
        Err(error) if error.is_missing_file() || !access.may_read(&format!("{path}/any")) => {
            return Err(ToolOutput::failed(format!(
                "there is no file `{}`: paths begin at the workspace's root, as in `memory/shared/trips.md`",
                shown(path)
            )));
        }
        Err(error) => return Err(refused(path, &error)),
    };
    let wanted = Wanted { path, from: as_usize(from, 1), lines: as_usize(lines, usize::MAX) };
    // A key in the configuration is the owner's and the program's, not the model's.
    let text = if real_path == CONFIG_FILE { without_secrets(&file.text).into() } else { file.text };
    let (text, event) = wanted.page(&text, call, limits)?;
    let mut output = ToolOutput::ours(text);
    output.from_outside = !access.is_of_the_prompt(&real_path);
    output.events.extend(event);
    Ok(output)
}

/// Without the directory the workspace is in, which is nobody's business.
fn refused(path: &str, error: &WorkspaceError) -> ToolOutput {
    let reason = match error {
        WorkspaceError::Access(access) => access.reason.to_string(),
        other => other.to_string(),
    };
    let help = error.help().unwrap_or_default();
    ToolOutput::failed(format!("cannot read `{}`: {reason}; {help}", shown(path)))
}

fn as_usize(number: Option<u64>, otherwise: usize) -> usize {
    number.map_or(otherwise, |number| usize::try_from(number).unwrap_or(usize::MAX))
}

fn shown(path: &str) -> String {
    single_line(path, PATH_CHARS)
}

/// Which lines of which file.
struct Wanted<'a> {
    path: &'a str,
    from: usize,
    lines: usize,
}

/// The lines that fit.
struct Shown {
    /// With their numbers.
    body: String,
    /// The number of the last.
    last: usize,
    /// How many bytes of the file they are.
    kept: usize,
}

impl Wanted<'_> {
    /// The lines with their numbers, and an event if not all that were wanted fit.
    fn page(
        &self,
        text: &str,
        call: &ToolCall,
        limits: OutputLimits,
    ) -> Result<(String, Option<Event>), ToolOutput> {
        let total = text.lines().count();
        let path = shown(self.path);
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
        let Shown { body, last, kept } = self.numbered(text, end, limits);
        let head = format!("`{path}`, lines {} to {last} of {total}:\n", self.from);
        let cut = text.lines().nth(last - 1).is_some_and(|line| line.len() > limits.bytes);
        let mut page = head + &body;
        if cut {
            page.push_str(
                "[the last line is too long to be shown whole; `bash` with `cut -c` shows the rest]\n",
            );
        }
        if last < end {
            page.push_str(&self.go_on(last + 1, end));
        }
        let wanted: usize =
            text.split_inclusive('\n').skip(self.from - 1).take(end + 1 - self.from).map(str::len).sum();
        let event = (cut || last < end).then(|| truncated(call, NAME, wanted, kept));
        Ok((page, event))
    }

    /// The lines from the first wanted one on, as many as fit but at least one.
    fn numbered(&self, text: &str, end: usize, limits: OutputLimits) -> Shown {
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
        Shown { body, last, kept }
    }

    /// How to read on, callable as it is written.
    fn go_on(&self, from: usize, end: usize) -> String {
        let lines = end + 1 - from;
        // A path that has to be escaped could not be called as it is shown.
        let exact = shown(self.path) == self.path && !self.path.contains(['"', '\\']);
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
