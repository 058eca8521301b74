//! Shows a turn: streams the answer to standard output, and prints tools and status to standard error.

use std::io::{IsTerminal as _, Write as _};

use foreword_agent::conversation::feed::Progress;
use foreword_core::failure::Failure;
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn_journal::Outcome;
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use serde_json::Value;

use super::json_lines;
use super::one_line::{call, escape_invisible, fitted, result, strip_control_sequences, width};
use super::wait_indicator::WaitIndicator;
use super::wrap::Wrap;

use crate::failure::at_terminal;
use crate::output::{DIM, Output, RED, YELLOW, styled};

pub(crate) struct Show<'a> {
    output: &'a Output,
    indicator: WaitIndicator,
    /// Wraps the answer's lines.
    line: Wrap,
    /// Whether standard output is a terminal.
    on_terminal: bool,
    /// A tool call without a result so far.
    open: Option<String>,
    /// Whether standard output is closed.
    gone: bool,
    /// The trust of the turn.
    trust: Trust,
}

impl<'a> Show<'a> {
    pub(crate) fn new(output: &'a Output) -> Self {
        let on_terminal = std::io::stdout().is_terminal();
        let (indicator, line, trust) = (WaitIndicator::new(), Wrap::new(), Trust::Full);
        Self { output, indicator, line, on_terminal, open: None, gone: false, trust }
    }

    /// Whether the reader of standard output has closed it.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Writes text held back for wrapping, else redraws the wait indicator.
    pub(crate) fn tick(&mut self) {
        let held_back = self.line.flush(width());
        if !held_back.is_empty() {
            self.write(&held_back);
        } else if self.line.is_at_line_start() && !self.output.wants_json() {
            self.indicator.tick();
        }
    }

    /// Shows `progress`, number `seq` in conversation `session`.
    pub(crate) fn progress(&mut self, progress: &Progress, session: &str, seq: u64) {
        if self.output.wants_json() {
            return self.json(progress, session, seq);
        }
        match progress {
            Progress::TurnStarted { trust, .. } => {
                self.trust = *trust;
                self.indicator.wait_for("");
            }
            Progress::Text(words) => self.write_text(words),
            Progress::ToolCall { tool, arguments, .. } => self.called(tool, arguments),
            Progress::ToolResult { tool, content, is_error, .. } => {
                self.tool_result(tool, content, *is_error)
            }
            Progress::Status(status) => self.status_line(&styled(YELLOW, escape_invisible(status))),
            Progress::Problem(cause) => {
                self.status_line(&styled(YELLOW, escape_invisible(at_terminal(cause))))
            }
            Progress::Question(_) => {
                self.open = None;
                self.finish_line();
            }
            Progress::Compacted => {
                self.status_line(&styled(DIM, "the conversation was compacted to a summary"))
            }
            Progress::TurnLeft { reason, .. } => self.turn_left(at_terminal(reason)),
            Progress::TurnInterrupted { reason, .. } => self.turn_left(reason),
            Progress::TurnEnded { outcome, failure, usage, cost, .. } => {
                self.leave_open_call();
                self.finish_line();
                let failure = failure.as_ref().map(|failure| failure_text(failure, self.trust));
                self.ended(*outcome, failure);
                // A turn without a model call has no usage.
                if std::io::stderr().is_terminal() && *usage != Usage::default() {
                    self.output.print_stderr(&styled(DIM, usage_line(*usage, *cost)));
                }
            }
        }
    }

    /// The turn can't continue in this process.
    fn turn_left(&mut self, reason: &str) {
        self.leave_open_call();
        self.finish_line();
        let later = "the message is stored and will be answered when the turn resumes";
        self.output.print_stderr(&format!("{} {}; {later}", styled(RED, "error:"), escape_invisible(reason)));
    }

    /// Reports that `count` items were dropped.
    pub(crate) fn missed(&mut self, count: u64) {
        self.status_line(&styled(
            YELLOW,
            format!(
                "{} updates of the answer were dropped because they came too fast",
                with_thousands(usize::try_from(count).unwrap_or(usize::MAX))
            ),
        ));
    }

    fn ended(&self, outcome: Outcome, failure: Option<&str>) {
        match (outcome, failure) {
            (_, Some(message)) => {
                self.output.print_stderr(&format!("{} {}", styled(RED, "error:"), escape_invisible(message)));
            }
            (Outcome::Cancelled, None) if !self.gone => {
                self.output.print_stderr(&styled(YELLOW, "stopped: the partial answer is kept"));
            }
            _ => {}
        }
    }

    fn write_text(&mut self, words: &str) {
        self.indicator.wait_for("");
        let words = strip_control_sequences(words);
        let words = if self.on_terminal { self.line.take(&words, width()) } else { self.line.pass(words) };
        self.write(&words);
    }

    fn called(&mut self, tool: &str, arguments: &Value) {
        self.finish_line();
        let line = call(tool, arguments.as_object().unwrap_or(&serde_json::Map::new()));
        self.indicator.wait_for(&line);
        self.open = Some(line);
    }

    /// Prints a call and its result on one line.
    fn tool_result(&mut self, tool: &str, content: &str, is_error: bool) {
        // A refused call was never started.
        let called = self.open.take().unwrap_or_else(|| escape_invisible(tool));
        let room = width().saturating_sub(4);
        let called = fitted(&called, room / 2);
        let verdict = if is_error { " failed:" } else { ":" };
        let room = room.saturating_sub(called.chars().count() + verdict.len());
        let line = format!("→ {called}{verdict} {}", result(content, room));
        self.status_line(&styled(if is_error { YELLOW } else { DIM }, line));
    }

    fn leave_open_call(&mut self) {
        if let Some(called) = self.open.take() {
            let called = fitted(&called, width().saturating_sub(20));
            self.status_line(&styled(YELLOW, format!("→ {called} did not finish")));
        }
    }

    /// Prints a line to standard error.
    fn status_line(&mut self, line: &str) {
        self.finish_line();
        self.output.print_stderr(line);
        self.indicator.wait_for("");
    }

    /// Clears the wait indicator and ends an open line.
    pub(crate) fn finish_line(&mut self) {
        self.indicator.clear();
        if !self.line.is_at_line_start() {
            let rest = self.line.flush(width());
            self.write(&format!("{rest}\n"));
            self.line.end_line();
        }
    }

    fn write(&mut self, text: &str) {
        let mut out = anstream::stdout().lock();
        // A closed pipe, such as of `head`, is not a failure.
        self.gone |= out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
    }

    fn json(&mut self, progress: &Progress, session: &str, seq: u64) {
        let mut out = std::io::stdout().lock();
        for line in json_lines::lines(progress, session, seq) {
            self.gone |= writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
        }
    }
}

/// The usage and cost of a turn.
pub(crate) fn usage_line(usage: Usage, cost: Price) -> String {
    let count = |tokens: u64| with_thousands(usize::try_from(tokens).unwrap_or(usize::MAX));
    let input = usage.input + usage.cache_read + usage.cache_write;
    let cached =
        if usage.cache_read > 0 { format!(" ({} cached)", count(usage.cache_read)) } else { String::new() };
    let cost = match cost {
        Price::Known(money) => money.to_string(),
        Price::Unknown => "price unknown".to_owned(),
    };
    format!("{} tokens in{cached}, {} out, {cost}", count(input), count(usage.output))
}

/// Why a turn failed. With `/as`, a less trusted user sees the message for that trust, if there is one;
/// otherwise the cause, which is in this terminal's log anyway.
fn failure_text(failure: &Failure, trust: Trust) -> &str {
    let public = failure.public.as_deref().filter(|_| !trust.permits(Trust::Full));
    public.unwrap_or_else(|| at_terminal(&failure.detail))
}
