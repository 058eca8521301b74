//! A sign of life while nothing comes: a dim line on standard error that counts the seconds and leaves no trace. Only
//! where somebody sees it.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::one_line::{fitted, width};
use crate::output::{DIM, styled};

/// What comes sooner needs no sign.
const PATIENCE: Duration = Duration::from_millis(250);
/// From when on the way out is named.
const LONG: u64 = 5;

/// A line that is written over.
pub(crate) struct Mark {
    /// Whether standard error is a terminal that can take a line back.
    seen: bool,
    shown: bool,
    since: Instant,
    /// What is waited for.
    what: String,
}

impl Mark {
    pub(crate) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let seen = std::io::stderr().is_terminal() && !dumb;
        Self { seen, shown: false, since: Instant::now(), what: String::new() }
    }

    /// Something else is waited for from now on.
    pub(crate) fn wait_for(&mut self, what: &str) {
        self.clear();
        self.since = Instant::now();
        self.what = what.to_owned();
    }

    /// Shows that it is still alive.
    pub(crate) fn tick(&mut self) {
        if !self.seen || self.since.elapsed() < PATIENCE {
            return;
        }
        let line = fitted(&line(&self.what, self.since.elapsed().as_secs()), width().saturating_sub(1));
        let mut out = anstream::stderr().lock();
        // Nobody to tell when standard error is gone.
        let _ = self.erase().and_then(|()| write!(out, "{}", styled(DIM, line))).and_then(|()| out.flush());
        self.shown = true;
    }

    /// Takes it back.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = self.erase();
            self.shown = false;
        }
    }

    /// Not by way of the stream that knows colours: without colour it would drop this too.
    fn erase(&self) -> std::io::Result<()> {
        let mut out = std::io::stderr().lock();
        out.write_all(b"\r\x1b[2K")?;
        out.flush()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(what: &str, seconds: u64) -> String {
    let what = if what.is_empty() { String::new() } else { format!(" {what}") };
    match seconds {
        0 => format!("…{what}"),
        seconds if seconds < LONG => format!("…{what} {seconds}s"),
        seconds => format!("…{what} {seconds}s, Ctrl-C stops it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_says_how_long_and_how_to_end_it() {
        assert_eq!(line("", 0), "…");
        assert_eq!(line("bash(\"make\")", 3), "… bash(\"make\") 3s");
        assert_eq!(line("", 12), "… 12s, Ctrl-C stops it");
    }
}
