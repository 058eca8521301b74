//! Parses the console blocks of a Markdown page: their commands, the output shown, and the comments before them.

use std::ops::Range;

/// How a block is handled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Run,
    /// The reason.
    NotRun(String),
    /// By another test.
    Recorded,
}

#[derive(Debug)]
pub(super) struct Block {
    /// The line of its fence, from 1.
    pub(super) line: usize,
    pub(super) purpose: Purpose,
    /// Commands to run before it.
    pub(super) setup: String,
    pub(super) commands: Vec<Command>,
}

#[derive(Debug)]
pub(super) struct Command {
    /// Its line, from 1.
    pub(super) line: usize,
    pub(super) indent: usize,
    pub(super) text: String,
    pub(super) expected: Vec<String>,
    /// The lines of the page that show its output, from 0.
    pub(super) output_lines: Range<usize>,
    /// The command runs until it prints this.
    pub(super) until: Option<String>,
}

impl Block {
    pub(super) fn all_of(page: &str) -> Vec<Self> {
        let lines: Vec<&str> = page.lines().collect();
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            if lines[at].trim_start() == "```console" {
                let end = (at + 1..lines.len()).find(|line| lines[*line].trim() == "```").unwrap();
                blocks.push(Self::of(&lines, at, end));
                at = end;
            }
            at += 1;
        }
        blocks
    }

    fn of(lines: &[&str], fence: usize, end: usize) -> Self {
        let indent = lines[fence].len() - lines[fence].trim_start().len();
        let mut block =
            Self { line: fence + 1, purpose: Purpose::Run, setup: String::new(), commands: Vec::new() };
        let mut until = None;
        for comment in comments_before(lines, fence) {
            match comment.split_once(':') {
                Some(("not run", reason)) => block.purpose = Purpose::NotRun(reason.trim().to_owned()),
                Some(("setup", commands)) => block.setup = commands.trim().to_owned(),
                Some(("until", words)) => until = Some(words.trim().to_owned()),
                _ if comment.starts_with("recorded by") => block.purpose = Purpose::Recorded,
                _ => {}
            }
        }
        if block.purpose == Purpose::Run {
            block.commands = commands(lines, fence + 1..end, indent);
            assert!(!block.commands.is_empty(), "line {}: no command, and no `not run`", fence + 1);
            block.commands.last_mut().unwrap().until = until;
        }
        block
    }
}

/// The comments directly before a line, in order.
fn comments_before(lines: &[&str], line: usize) -> Vec<String> {
    let mut comments = Vec::new();
    let mut end = line;
    loop {
        while end > 0 && lines[end - 1].trim().is_empty() {
            end -= 1;
        }
        if end == 0 || !lines[end - 1].trim_end().ends_with("-->") {
            comments.reverse();
            return comments;
        }
        let start = (0..end).rev().find(|at| lines[*at].trim_start().starts_with("<!--")).unwrap();
        let text: Vec<&str> = lines[start..end].iter().map(|line| line.trim()).collect();
        let text = text.join("\n");
        comments.push(text.trim_start_matches("<!--").trim_end_matches("-->").trim().to_owned());
        end = start;
    }
}

fn commands(lines: &[&str], range: Range<usize>, indent: usize) -> Vec<Command> {
    let line_at = |at: usize| lines[at].get(indent..).unwrap_or_default();
    let mut commands: Vec<Command> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let Some(text) = line_at(at).strip_prefix("$ ") else {
            let last =
                commands.last_mut().unwrap_or_else(|| panic!("line {}: output without a command", at + 1));
            last.expected.push(line_at(at).to_owned());
            at += 1;
            last.output_lines.end = at;
            continue;
        };
        let (line, mut text) = (at + 1, text.to_owned());
        at += 1;
        while text.ends_with('\\') {
            text = format!("{text}\n{}", line_at(at));
            at += 1;
        }
        let output_lines = at..at;
        commands.push(Command { line, indent, text, expected: Vec::new(), output_lines, until: None });
    }
    for command in &mut commands {
        // An empty line before the next command is not output.
        while command.expected.last().is_some_and(|line| line.trim().is_empty()) {
            command.expected.pop();
            command.output_lines.end -= 1;
        }
    }
    commands
}
