//! The last lines of what a program wrote to its standard error. Takes the same memory however much there is.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use foreword_prompt::untrusted::single_line;

use super::unpoisoned;

/// How many lines are kept.
const LINES: usize = 12;
/// How much of a line.
const LINE_CHARS: usize = 240;
/// How much of a line is read before the rest of it is passed over.
const LINE_BYTES: usize = 2 * LINE_CHARS;

/// The last lines; clones see the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<Words>>);

#[derive(Debug, Default)]
struct Words {
    lines: VecDeque<String>,
    current: Vec<u8>,
}

impl LastWords {
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut words = unpoisoned(&self.0);
        for byte in bytes {
            match byte {
                b'\n' => words.end_line(),
                _ if words.current.len() < LINE_BYTES => words.current.push(*byte),
                _ => {}
            }
        }
    }

    /// The lines, each fit for a terminal.
    pub(super) fn lines(&self) -> Vec<String> {
        let words = unpoisoned(&self.0);
        let last = Some(shown(&words.current)).filter(|line| !line.is_empty());
        words.lines.iter().cloned().chain(last).collect()
    }
}

impl Words {
    fn end_line(&mut self) {
        let line = shown(&std::mem::take(&mut self.current));
        if line.is_empty() {
            return;
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

fn shown(bytes: &[u8]) -> String {
    single_line(String::from_utf8_lossy(bytes).trim_end(), LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_nothing_in_them_steers_a_terminal() {
        let words = LastWords::default();
        for number in 0..100 {
            words.push(format!("line {number}\r\n\n").as_bytes());
        }
        words.push(b"\x1b[2Jred ");
        words.push(&b"x".repeat(100_000));
        let lines = words.lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[11].as_str()), (LINES + 1, "line 88", "line 99"));
        assert!(lines[12].starts_with(r"\u{1b}") && lines[12].chars().count() <= LINE_CHARS, "{}", lines[12]);
    }
}
