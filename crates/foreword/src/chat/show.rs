//! What a turn does, as it is shown: words on standard output as they come, the rest briefly on standard error.

use std::io::{IsTerminal as _, Write as _};

use foreword_agent::feed::Progress;
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::single_line;
use serde_json::{Value, json};

use crate::output::{CYAN, DIM, Output, RED, YELLOW, styled};

/// The longest line about a tool.
const LINE: usize = 100;

/// Shows a turn.
pub(crate) struct Show<'a> {
    output: &'a Output,
    /// Whether the last character on standard output ended a line.
    at_line_start: bool,
}

impl<'a> Show<'a> {
    pub(crate) fn new(output: &'a Output) -> Self {
        Self { output, at_line_start: true }
    }

    pub(crate) fn progress(&mut self, progress: &Progress, session: &str) {
        if self.output.wants_json() {
            return self.json(progress, session);
        }
        match progress {
            Progress::TurnStarted { .. } | Progress::Question(_) => {}
            Progress::Text(words) => self.words(words),
            Progress::ToolCall { tool, arguments, .. } => {
                self.aside(&styled(DIM, format!("→ {tool} {}", shown_arguments(arguments))));
            }
            Progress::ToolResult { content, is_error: false, .. } => {
                self.aside(&styled(DIM, format!("← {}", shown_result(content))));
            }
            Progress::ToolResult { tool, content, is_error: true, .. } => {
                let line = format!("← {tool} failed: {}", shown_result(content));
                self.aside(&styled(YELLOW, line));
            }
            Progress::Status(status) => self.aside(&styled(YELLOW, single_line(status, 400))),
            Progress::Compacted => self.aside(&styled(DIM, "the conversation was replaced by its summary")),
            Progress::TurnEnded { outcome, failure, usage, cost, .. } => {
                self.end_line();
                match (outcome, failure) {
                    (_, Some(failure)) => {
                        self.output.say(&format!("{} {}", styled(RED, "error:"), failure.message));
                    }
                    (Outcome::Cancelled, _) => self.output.say(&styled(YELLOW, "cancelled")),
                    _ => {}
                }
                if std::io::stderr().is_terminal() {
                    self.output.say(&styled(DIM, bill(*usage, *cost)));
                }
            }
        }
    }

    fn words(&mut self, words: &str) {
        let mut out = anstream::stdout().lock();
        // A reader that has seen enough is no failure.
        let _ = out.write_all(visible(words).as_bytes()).and_then(|()| out.flush());
        if let Some(last) = words.chars().last() {
            self.at_line_start = last == '\n';
        }
    }

    /// A line beside the answer.
    fn aside(&mut self, line: &str) {
        self.end_line();
        self.output.say(line);
    }

    fn end_line(&mut self) {
        if !self.at_line_start {
            let mut out = anstream::stdout().lock();
            let _ = out.write_all(b"\n").and_then(|()| out.flush());
            self.at_line_start = true;
        }
    }

    fn json(&self, progress: &Progress, session: &str) {
        let mut event = event(progress);
        event["sessionId"] = json!(session);
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{event}").and_then(|()| out.flush());
    }
}

/// What a turn took, on one line.
pub(crate) fn bill(usage: Usage, cost: Price) -> String {
    let count = |tokens: u64| with_thousands(usize::try_from(tokens).unwrap_or(usize::MAX));
    let input = usage.input + usage.cache_read + usage.cache_write;
    let cached =
        if usage.cache_read > 0 { format!(" ({} cached)", count(usage.cache_read)) } else { String::new() };
    format!("{} tokens in{cached}, {} out, {cost}", count(input), count(usage.output))
}

fn shown_arguments(arguments: &Value) -> String {
    let pairs = arguments.as_object().into_iter().flatten();
    let words: Vec<String> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
    styled(CYAN, single_line(&words.join(" "), LINE))
}

/// The first line of what a tool gave that says something, and how much there is.
fn shown_result(content: &str) -> String {
    let lines: Vec<&str> = content.lines().filter(|line| !line.trim().is_empty()).collect();
    // A frame begins with what it is; what is in it stands behind a bar.
    let first =
        lines.iter().find(|line| line.starts_with("| ")).or(lines.first()).copied().unwrap_or("nothing");
    let more = if lines.len() > 1 { format!(" (+{} lines)", lines.len() - 1) } else { String::new() };
    format!("{}{more}", single_line(first.trim_start_matches("| "), LINE))
}

/// What a model says, without what would command the terminal.
fn visible(words: &str) -> String {
    let harmless = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    words.chars().filter(harmless).collect()
}

/// The same for programs, one object a line.
fn event(progress: &Progress) -> Value {
    match progress {
        Progress::TurnStarted { turn, user, trust, .. } => {
            json!({ "type": "turn_start", "turn": turn.as_str(), "user": user, "trust": trust.as_str() })
        }
        Progress::Text(text) => json!({ "type": "text_delta", "text": text }),
        Progress::ToolCall { call, tool, arguments } => {
            json!({ "type": "tool_call", "call": call.as_str(), "tool": tool, "arguments": arguments })
        }
        Progress::ToolResult { call, tool, content, is_error } => {
            json!({ "type": "tool_result", "call": call.as_str(), "tool": tool, "content": content, "isError": is_error })
        }
        Progress::Status(message) => json!({ "type": "status", "message": message }),
        Progress::Question(question) => json!({
            "type": "question", "call": question.call.as_str(), "tool": question.tool,
            "arguments": question.arguments, "because": question.because,
        }),
        Progress::Compacted => json!({ "type": "session_compacted" }),
        Progress::TurnEnded { turn, outcome, failure, usage, cost } => json!({
            "type": "turn_end", "turn": turn.as_str(), "outcome": TurnState::Ended(*outcome).as_str(),
            "error": failure.as_ref().map(|failure| &failure.message),
            "usage": usage, "cost": cost,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_shown_by_its_first_words_and_its_length() {
        assert_eq!(shown_result("one\n\ntwo\nthree\n"), "one (+2 lines)");
        assert_eq!(shown_result("<frame>\nrule\n| hello\n</frame>"), "hello (+3 lines)");
        assert_eq!(shown_result(""), "nothing");
    }

    #[test]
    fn what_a_model_says_can_not_command_the_terminal() {
        assert_eq!(visible("a\u{1b}[2Jb\tc\n\u{7}"), "a[2Jb\tc\n");
    }
}
