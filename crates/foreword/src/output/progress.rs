//! How far long work has come: one line on standard error that is written over, and only where somebody sees it.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use foreword_prompt::text::with_thousands;

/// How often the line changes; what is done sooner shows nothing.
const EVERY: Duration = Duration::from_millis(250);

/// A line that is written over.
#[derive(Debug)]
pub(crate) struct Meter {
    what: &'static str,
    next: Instant,
    shown: bool,
}

impl Meter {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, next: Instant::now() + EVERY, shown: false }
    }

    /// Shows that `done` of `of` is done, if it is time.
    pub(crate) fn show(&mut self, done: u64, of: Option<u64>) {
        let mut out = std::io::stderr().lock();
        if Instant::now() < self.next || !out.is_terminal() {
            return;
        }
        self.next = Instant::now() + EVERY;
        self.shown = true;
        let number = |number: u64| with_thousands(usize::try_from(number).unwrap_or(usize::MAX));
        let of =
            of.filter(|of| *of > 0).map(|of| format!(" of {} ({} %)", number(of), done.min(of) * 100 / of));
        // Nobody to tell when standard error is gone.
        let _ = write!(out, "\r\x1b[2K{}: {}{}", self.what, number(done), of.unwrap_or_default());
        let _ = out.flush();
    }
}

/// Leaves nothing of the line behind.
impl Drop for Meter {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}
