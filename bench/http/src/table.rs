//! The printed output: a heading per section, a line per comparison, and notes.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use crate::timing::Comparison;

/// Prints immediately, so that a long run shows its progress. Ignores a closed pipe.
#[derive(Default)]
pub struct Table {
    sections: usize,
}

impl Table {
    /// Starts a section without comparisons.
    pub fn heading(&mut self, title: &str) {
        if self.sections > 0 {
            print("");
        }
        self.sections += 1;
        print(title);
    }

    /// Starts a section.
    pub fn section(&mut self, title: &str, peer: &str) {
        self.heading(title);
        print(&format!("  {:<46} {:>10} {:>10} {:>8}", "", "time", "peer", "ratio"));
        print(&format!("  {:<46} peer: {peer}", ""));
    }

    /// A subject next to its peer, with the target ratio, if there is one.
    pub fn compare(&mut self, what: &str, comparison: &Comparison, target: Option<f64>) {
        let target = target.map(|target| format!("  (aim: at most {target})")).unwrap_or_default();
        let (subject, peer) = (readable(comparison.subject), readable(comparison.peer));
        // With two digits, small ratios would all look the same.
        let digits = if comparison.ratio < 0.1 { 5 } else { 2 };
        print(&format!("  {what:<46} {subject:>10} {peer:>10} {:>8.digits$}{target}", comparison.ratio));
    }

    /// A note about the figures.
    pub fn note(&mut self, text: &str) {
        print(&format!("  {text}"));
    }

    /// A section that could not be measured.
    pub fn failure(&mut self, section: &str, error: &dyn Error) {
        // Nothing more can be done if this fails.
        let _ = writeln!(std::io::stderr(), "error: section `{section}`: {error}");
    }
}

/// A time with three significant digits.
pub fn readable(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    let (value, unit) = match nanos {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {unit}")
}

fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
