//! Printing: data goes to standard output, messages to standard error, colour only to a terminal.

pub(crate) mod chart;
pub(crate) mod progress;
pub(crate) mod span_bars;
pub(crate) mod sparkline;
pub(crate) mod table;
pub(crate) mod text_diff;

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::with_thousands;
use serde::Serialize;
use serde_json::{Value, json};
use terminal_size::{Width, terminal_size_of};

use crate::failure::{Failure, Problem};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const BLUE: Style = AnsiColor::Blue.on_default();
pub(crate) const MAGENTA: Style = AnsiColor::Magenta.on_default();

/// `text` in `style`; the stream removes colour if it is not a terminal.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A count with its noun, such as `1 event` or `2,000 events`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    let plural = match number {
        1 => "",
        _ if what.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", with_thousands(usize::try_from(number).unwrap_or(usize::MAX)))
}

/// A time in UTC, to the second.
pub(crate) fn when(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.get(..19).unwrap_or(&text).replace('T', " "))
}

/// The width of standard output.
pub(crate) fn columns() -> usize {
    terminal_size_of(std::io::stdout()).map_or(100, |(Width(columns), _)| usize::from(columns).max(40))
}

/// Prints a command's output.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    pub(crate) fn wants_json(&self) -> bool {
        self.json
    }

    /// Prints `text` unchanged; a terminal gets a final line break.
    pub(crate) fn print_exact(&self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let newline = if out.is_terminal() && !text.ends_with('\n') { "\n" } else { "" };
        ignore_broken_pipe(
            out.write_all(text.as_bytes())
                .and_then(|()| out.write_all(newline.as_bytes()))
                .and_then(|()| out.flush()),
        )
    }

    /// Prints a line to standard output.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        ignore_broken_pipe(writeln!(out, "{text}").and_then(|()| out.flush()))
    }

    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.print(&text),
            Err(error) => Err(Failure::failed(format!("can't write JSON: {error}"), "report this bug")),
        }
    }

    /// Prints a line to standard error.
    pub(crate) fn print_stderr(&self, text: &str) {
        // If standard error is closed, the message can't be shown anywhere.
        let _ = writeln!(anstream::stderr().lock(), "{text}");
    }

    pub(crate) fn warn(&self, message: &str) {
        if !self.json {
            self.print_stderr(&format!("{} {message}", styled(YELLOW, "warning:")));
        }
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        let problems = failure.problems();
        if self.json {
            let all: Vec<Value> = problems.iter().map(Problem::json).collect();
            return self.print_stderr(&format!("{:#}", json!({ "error": all.first(), "problems": all })));
        }
        for problem in &problems {
            self.print_stderr(&problem_text(problem, &styled(RED, "error:")));
        }
    }
}

/// A problem with its location, source line and help.
pub(crate) fn problem_text(problem: &Problem, severity: &str) -> String {
    let mut out = format!("{severity} {}", styled(BOLD, &problem.message));
    if let Some((file, line, column)) = &problem.place {
        out.push_str(&format!("\n  {} {file}:{line}:{column}", styled(BLUE, "-->")));
    }
    if let Some(excerpt) = &problem.excerpt {
        for line in excerpt.lines() {
            out.push_str(&format!("\n  {line}"));
        }
    }
    if let Some(help) = &problem.help {
        out.push_str(&format!("\n  {} {help}", styled(CYAN, "help:")));
    }
    out
}

/// A closed pipe, such as of `head`, is not a failure.
fn ignore_broken_pipe(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("can't write: {error}"), "is the disk full?"))
        }
        _ => Ok(()),
    }
}
