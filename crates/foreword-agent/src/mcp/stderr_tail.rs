//! The last lines of a program's standard error, in constant memory.

use std::collections::VecDeque;
use std::sync::Arc;

use foreword_prompt::untrusted::single_line;
use parking_lot::Mutex;

/// The number of lines kept.
const LINES: usize = 12;
/// The maximum length of a line.
const LINE_CHARS: usize = 240;
/// The maximum number of bytes read of a line; the rest is skipped.
const LINE_BYTES: usize = 2 * LINE_CHARS;

/// The last lines. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct StderrTail(Arc<Mutex<TailBuffer>>);

#[derive(Debug, Default)]
struct TailBuffer {
    lines: VecDeque<String>,
    current: Vec<u8>,
}

impl StderrTail {
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut words = self.0.lock();
        for byte in bytes {
            match byte {
                b'\n' => words.end_line(),
                _ if words.current.len() < LINE_BYTES => words.current.push(*byte),
                _ => {}
            }
        }
    }

    /// The lines, escaped for a terminal.
    pub(super) fn lines(&self) -> Vec<String> {
        let words = self.0.lock();
        let last = Some(display_line(&words.current)).filter(|line| !line.is_empty());
        words.lines.iter().cloned().chain(last).collect()
    }
}

impl TailBuffer {
    fn end_line(&mut self) {
        let line = display_line(&std::mem::take(&mut self.current));
        if line.is_empty() {
            return;
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

fn display_line(bytes: &[u8]) -> String {
    single_line(String::from_utf8_lossy(bytes).trim_end(), LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_are_kept_and_control_characters_escaped() {
        let words = StderrTail::default();
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
