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

/// The most characters of what the owner is asked about.
const ASKED: usize = 2_000;

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
                self.aside(&styled(DIM, format!("→ {} {}", shown_name(tool), shown_arguments(arguments))));
            }
            Progress::ToolResult { content, is_error: false, .. } => {
                self.aside(&styled(DIM, format!("← {}", shown_result(content))));
            }
            Progress::ToolResult { tool, content, is_error: true, .. } => {
                self.aside(&styled(YELLOW, failed_line(tool, content)));
            }
            Progress::Status(status) => self.aside(&styled(YELLOW, single_line(status, 400))),
            Progress::Compacted => self.aside(&styled(DIM, "the conversation was replaced by its summary")),
            Progress::TurnEnded { outcome, failure, usage, cost, .. } => {
                self.end_line();
                match (outcome, failure) {
                    (_, Some(failure)) => {
                        let message = visible(&failure.message);
                        self.output.say(&format!("{} {message}", styled(RED, "error:")));
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

/// What the owner is asked about, on one line; if it can't be shown whole, that is said: nobody should allow what they
/// have not read.
pub(crate) fn asked_arguments(arguments: &Value) -> String {
    let whole = single_line(&arguments.to_string(), usize::MAX);
    match whole.char_indices().nth(ASKED) {
        None => whole,
        Some((end, _)) => {
            let more = with_thousands(whole[end..].chars().count());
            format!("{}… ({more} characters more are NOT shown)", &whole[..end])
        }
    }
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

/// A tool's name, which a model may have made up.
fn shown_name(tool: &str) -> String {
    single_line(tool, 40)
}

fn failed_line(tool: &str, content: &str) -> String {
    format!("← {} failed: {}", shown_name(tool), shown_result(content))
}

/// What a model says, without what would command the terminal or turn the order in which words are shown. Not trimmed to
/// whole words or lines: it comes in pieces.
pub(crate) fn visible(words: &str) -> String {
    let harmless = |c: &char| match c {
        '\n' | '\t' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    };
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
        assert_eq!(visible("\u{9b}31mred\r\u{8}\u{7f}\u{0}"), "31mred");
        assert_eq!(visible("exe.\u{202e}fdp\u{202c} \u{2066}x\u{2069}\u{e0041}"), "exe.fdp x");
        assert_eq!(visible("süß 👩‍👧 שלום\u{200f} می‌خواهم"), "süß 👩‍👧 שלום\u{200f} می‌خواهم");
    }

    #[test]
    fn nothing_a_tool_is_called_is_given_or_gives_can_command_the_terminal() {
        const NASTY: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\r\n\u{9b}31m\u{202e}\u{200b}`b`";
        let arguments = json!({ NASTY: NASTY, "deep": [NASTY] });
        // The colours are ours.
        let arguments = anstream::adapter::strip_str(&shown_arguments(&arguments)).to_string();
        let result = shown_result(&format!("{NASTY} | x\nmore"));
        for line in [failed_line(NASTY, NASTY), arguments, result, shown_name(NASTY)] {
            let commands = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
            assert!(!line.contains(commands), "{line:?}");
        }
        let line = failed_line("no\u{1b}[31msuch", "there is no tool");
        assert_eq!(line, "← no\\u{1b}\\u{5b}31msuch failed: there is no tool");
    }

    #[test]
    fn the_owner_is_told_if_what_is_asked_is_not_shown_whole() {
        let asked = |text: &str| asked_arguments(&json!({ "command": text }));
        assert_eq!(asked("ls"), r#"{"command":"ls"}"#);
        let long = asked(&format!("{}; rm -r /", "echo ".repeat(1_000)));
        assert!(long.ends_with("characters more are NOT shown)") && !long.contains("rm -r"), "{long}");
        assert!(asked(&"x".repeat(1_900)).ends_with("xx\"}"));
        assert!(!asked("\u{1b}[2J\u{202e}\n").contains(['\u{1b}', '\u{202e}', '\n']));
    }

    #[test]
    fn what_programs_read_is_one_line_of_json_whatever_is_in_it() {
        let nasty = "\u{1b}[2J\r\n\u{2028}\"}\u{0}";
        for progress in [Progress::Text(nasty.to_owned()), Progress::Status(nasty.to_owned())] {
            let line = event(&progress).to_string();
            assert!(!line.contains(char::is_control), "{line:?}");
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), event(&progress));
        }
    }
}
