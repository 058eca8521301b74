//! A dim line on standard error that counts the seconds of a wait and is erased afterwards. Only on a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::one_line::{fitted, width};
use crate::output::{DIM, styled};

/// The delay before the line is shown.
const SHOW_DELAY: Duration = Duration::from_millis(250);
/// After this the line mentions Ctrl-C.
const HINT_AFTER_SECONDS: u64 = 5;

pub(crate) struct WaitIndicator {
    /// Whether standard error is a terminal that can erase a line.
    seen: bool,
    shown: bool,
    since: Instant,
    /// The current activity.
    what: String,
}

impl WaitIndicator {
    pub(crate) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let seen = std::io::stderr().is_terminal() && !dumb;
        Self { seen, shown: false, since: Instant::now(), what: String::new() }
    }

    /// Starts a new wait.
    pub(crate) fn wait_for(&mut self, what: &str) {
        self.clear();
        self.since = Instant::now();
        self.what = what.to_owned();
    }

    /// Redraws the line.
    pub(crate) fn tick(&mut self) {
        if !self.seen || self.since.elapsed() < SHOW_DELAY {
            return;
        }
        let line = fitted(&line(&self.what, self.since.elapsed().as_secs()), width().saturating_sub(1));
        let mut out = anstream::stderr().lock();
        // If standard error is closed, the line can't be shown anywhere.
        let _ = self.erase().and_then(|()| write!(out, "{}", styled(DIM, line))).and_then(|()| out.flush());
        self.shown = true;
    }

    /// Erases the line.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = self.erase();
            self.shown = false;
        }
    }

    /// Bypasses `anstream`, which drops escape sequences when colour is off.
    fn erase(&self) -> std::io::Result<()> {
        let mut out = std::io::stderr().lock();
        out.write_all(b"\r\x1b[2K")?;
        out.flush()
    }
}

impl Drop for WaitIndicator {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(what: &str, seconds: u64) -> String {
    let what = if what.is_empty() { String::new() } else { format!(" {what}") };
    match seconds {
        0 => format!("…{what}"),
        seconds if seconds < HINT_AFTER_SECONDS => format!("…{what} {seconds}s"),
        seconds => format!("…{what} {seconds}s, Ctrl-C stops it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_wait_shows_seconds_and_ctrl_c() {
        assert_eq!(line("", 0), "…");
        assert_eq!(line("bash(\"make\")", 3), "… bash(\"make\") 3s");
        assert_eq!(line("", 12), "… 12s, Ctrl-C stops it");
    }
}
