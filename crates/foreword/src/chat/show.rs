//! What a turn does, as it is shown: words on standard output as they come, the rest briefly on standard error.

use std::io::{IsTerminal as _, Write as _};

use foreword_agent::feed::Progress;
use foreword_core::failure::Failure;
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn_journal::Outcome;
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use serde_json::Value;

use super::json_lines;
use super::mark::Mark;
use super::one_line::{call, exposed, fitted, harmless, result, width};
use super::wrap::Wrap;

use crate::failure::at_terminal;
use crate::output::{DIM, Output, RED, YELLOW, styled};

/// Shows a turn.
pub(crate) struct Show<'a> {
    output: &'a Output,
    mark: Mark,
    /// How the line of the answer is filled.
    line: Wrap,
    /// Whether standard output is a terminal.
    on_terminal: bool,
    /// A call that has begun and not ended.
    open: Option<String>,
    /// Whether nobody reads standard output any more.
    gone: bool,
    /// The trust of the turn that is shown.
    trust: Trust,
}

impl<'a> Show<'a> {
    pub(crate) fn new(output: &'a Output) -> Self {
        let on_terminal = std::io::stdout().is_terminal();
        let (mark, line, trust) = (Mark::new(), Wrap::new(), Trust::Full);
        Self { output, mark, line, on_terminal, open: None, gone: false, trust }
    }

    /// Whether whoever read the answer has seen enough.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Shows that it is still alive, where nothing else shows it.
    pub(crate) fn tick(&mut self) {
        let held_back = self.line.flush(width());
        if !held_back.is_empty() {
            self.write(&held_back);
        } else if self.line.is_at_line_start() && !self.output.wants_json() {
            self.mark.tick();
        }
    }

    /// Shows the `seq`th thing that happens in conversation `session`.
    pub(crate) fn progress(&mut self, progress: &Progress, session: &str, seq: u64) {
        if self.output.wants_json() {
            return self.json(progress, session, seq);
        }
        match progress {
            Progress::TurnStarted { trust, .. } => {
                self.trust = *trust;
                self.mark.wait_for("");
            }
            Progress::Text(words) => self.words(words),
            Progress::ToolCall { tool, arguments, .. } => self.called(tool, arguments),
            Progress::ToolResult { tool, content, is_error, .. } => self.gave(tool, content, *is_error),
            Progress::Status(status) => self.aside(&styled(YELLOW, exposed(status))),
            Progress::Problem(cause) => self.aside(&styled(YELLOW, exposed(at_terminal(cause)))),
            Progress::Question(_) => {
                self.open = None;
                self.settle();
            }
            Progress::Compacted => self.aside(&styled(DIM, "the conversation was replaced by its summary")),
            Progress::TurnLeft { reason, .. } => self.left(at_terminal(reason)),
            Progress::TurnInterrupted { reason, .. } => self.left(reason),
            Progress::TurnEnded { outcome, failure, usage, cost, .. } => {
                self.leave_open_call();
                self.settle();
                let failure = failure.as_ref().map(|failure| failure_text(failure, self.trust));
                self.ended(*outcome, failure);
                // What never reached a model took nothing.
                if std::io::stderr().is_terminal() && *usage != Usage::default() {
                    self.output.say(&styled(DIM, bill(*usage, *cost)));
                }
            }
        }
    }

    /// The turn can't go on here.
    fn left(&mut self, reason: &str) {
        self.leave_open_call();
        self.settle();
        let later = "what was said is kept, and is answered when the turn is taken up again";
        self.output.say(&format!("{} {}; {later}", styled(RED, "error:"), exposed(reason)));
    }

    /// Some of it went by unseen.
    pub(crate) fn missed(&mut self, count: u64) {
        self.aside(&styled(
            YELLOW,
            format!(
                "{} pieces of the answer came faster than they could be shown",
                with_thousands(usize::try_from(count).unwrap_or(usize::MAX))
            ),
        ));
    }

    fn ended(&self, outcome: Outcome, failure: Option<&str>) {
        match (outcome, failure) {
            (_, Some(message)) => {
                self.output.say(&format!("{} {}", styled(RED, "error:"), exposed(message)));
            }
            (Outcome::Cancelled, None) if !self.gone => {
                self.output.say(&styled(YELLOW, "stopped: the answer ends here, what was said is kept"));
            }
            _ => {}
        }
    }

    fn words(&mut self, words: &str) {
        self.mark.wait_for("");
        let words = harmless(words);
        let words = if self.on_terminal { self.line.take(&words, width()) } else { self.line.pass(words) };
        self.write(&words);
    }

    fn called(&mut self, tool: &str, arguments: &Value) {
        self.settle();
        let line = call(tool, arguments.as_object().unwrap_or(&serde_json::Map::new()));
        self.mark.wait_for(&line);
        self.open = Some(line);
    }

    /// A call and what came of it share a line.
    fn gave(&mut self, tool: &str, content: &str, is_error: bool) {
        // What was refused has never begun.
        let called = self.open.take().unwrap_or_else(|| exposed(tool));
        let room = width().saturating_sub(4);
        let called = fitted(&called, room / 2);
        let verdict = if is_error { " failed:" } else { ":" };
        let room = room.saturating_sub(called.chars().count() + verdict.len());
        let line = format!("→ {called}{verdict} {}", result(content, room));
        self.aside(&styled(if is_error { YELLOW } else { DIM }, line));
    }

    fn leave_open_call(&mut self) {
        if let Some(called) = self.open.take() {
            let called = fitted(&called, width().saturating_sub(20));
            self.aside(&styled(YELLOW, format!("→ {called} was not finished")));
        }
    }

    /// A line beside the answer.
    fn aside(&mut self, line: &str) {
        self.settle();
        self.output.say(line);
        self.mark.wait_for("");
    }

    /// Leaves standard error free for a line.
    pub(crate) fn settle(&mut self) {
        self.mark.clear();
        if !self.line.is_at_line_start() {
            let rest = self.line.flush(width());
            self.write(&format!("{rest}\n"));
            self.line.end_line();
        }
    }

    fn write(&mut self, text: &str) {
        let mut out = anstream::stdout().lock();
        // A reader that has seen enough is no failure.
        self.gone |= out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
    }

    fn json(&mut self, progress: &Progress, session: &str, seq: u64) {
        let mut out = std::io::stdout().lock();
        for line in json_lines::lines(progress, session, seq) {
            self.gone |= writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
        }
    }
}

/// What a turn took, on one line.
pub(crate) fn bill(usage: Usage, cost: Price) -> String {
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

/// Why a turn failed. Who speaks as another reads what that person would read, where there is a sentence for them; otherwise the
/// cause, which the owner of this terminal can look up anyway.
fn failure_text(failure: &Failure, trust: Trust) -> &str {
    let public = failure.public.as_deref().filter(|_| !trust.permits(Trust::Full));
    public.unwrap_or_else(|| at_terminal(&failure.detail))
}
