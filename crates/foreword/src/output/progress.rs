//! A progress line on standard error, redrawn in place; only on a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use foreword_prompt::text::with_thousands;

/// Also the delay before the line is first shown.
const REDRAW_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct ProgressLine {
    what: &'static str,
    next: Instant,
    shown: bool,
}

impl ProgressLine {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, next: Instant::now() + REDRAW_INTERVAL, shown: false }
    }

    /// Redraws the line if the interval has passed.
    pub(crate) fn show(&mut self, done: u64, of: Option<u64>) {
        let mut out = std::io::stderr().lock();
        if Instant::now() < self.next || !out.is_terminal() {
            return;
        }
        self.next = Instant::now() + REDRAW_INTERVAL;
        self.shown = true;
        let number = |number: u64| with_thousands(usize::try_from(number).unwrap_or(usize::MAX));
        let of =
            of.filter(|of| *of > 0).map(|of| format!(" of {} ({} %)", number(of), done.min(of) * 100 / of));
        // If standard error is closed, the progress can't be shown anywhere.
        let _ = write!(out, "\r\x1b[2K{}: {}{}", self.what, number(done), of.unwrap_or_default());
        let _ = out.flush();
    }
}

/// Erases the line.
impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}
