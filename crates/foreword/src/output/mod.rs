//! How the program speaks: data on standard output, talk on standard error, colour only on a terminal.

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

/// `text` in `style`; the stream drops the colour where nobody would see it.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// So many of something, such as `1 event` or `2,000 events`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", with_thousands(usize::try_from(number).unwrap_or(usize::MAX)))
}

/// A time as people read it: to the second, in UTC.
pub(crate) fn when(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.get(..19).unwrap_or(&text).replace('T', " "))
}

/// How wide lines on standard output may be.
pub(crate) fn columns() -> usize {
    terminal_size_of(std::io::stdout()).map_or(100, |(Width(columns), _)| usize::from(columns).max(40))
}

/// Where a command prints.
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

    /// Bytes as they are, with a line end added only for a person's eyes.
    pub(crate) fn exactly(&self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let newline = if out.is_terminal() && !text.ends_with('\n') { "\n" } else { "" };
        finished(
            out.write_all(text.as_bytes())
                .and_then(|()| out.write_all(newline.as_bytes()))
                .and_then(|()| out.flush()),
        )
    }

    /// Text for people.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        finished(writeln!(out, "{text}").and_then(|()| out.flush()))
    }

    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.print(&text),
            Err(error) => Err(Failure::failed(format!("can't write JSON: {error}"), "report this")),
        }
    }

    /// Talk.
    pub(crate) fn say(&self, text: &str) {
        // Nobody to tell when standard error is gone.
        let _ = writeln!(anstream::stderr().lock(), "{text}");
    }

    pub(crate) fn warn(&self, message: &str) {
        if !self.json {
            self.say(&format!("{} {message}", styled(YELLOW, "warning:")));
        }
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        let problems = failure.problems();
        if self.json {
            let all: Vec<Value> = problems.iter().map(Problem::json).collect();
            return self.say(&format!("{:#}", json!({ "error": all.first(), "problems": all })));
        }
        for problem in &problems {
            self.say(&problem_text(problem, &styled(RED, "error:")));
        }
    }
}

/// A problem with its place, its line and the way out.
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

/// A reader that has seen enough is no failure.
fn finished(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("can't write: {error}"), "is the disk full?"))
        }
        _ => Ok(()),
    }
}
