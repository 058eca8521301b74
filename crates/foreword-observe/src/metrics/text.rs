//! The Prometheus text format, version 0.0.4.
//!
//! ```
//! use foreword_observe::metrics::text::{Kind, Page};
//! let mut page = Page::default();
//! page.family("foreword_http_requests_total", Kind::Counter, "Requests.");
//! page.sample(&[("method", "GET")], 3);
//! assert!(page.finish().ends_with("foreword_http_requests_total{method=\"GET\"} 3\n"));
//! ```

use std::fmt::{Display, Write as _};

use super::histogram::Histogram;

/// The type of a metric family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Monotonically increasing.
    Counter,
    /// Can go up and down.
    Gauge,
    /// Counts per bucket.
    Histogram,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The name and the value of a label.
pub type Label<'a> = (&'a str, &'a str);

/// A text under construction.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    /// The current family.
    name: &'static str,
}

impl Page {
    /// Starts a family. Its samples must follow directly.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &str) {
        self.name = name;
        let kind = kind.as_str();
        // Writing to a string can't fail.
        let _ = writeln!(self.text, "# HELP {name} {}\n# TYPE {name} {kind}", escaped(help, false));
    }

    /// Adds a sample to the family.
    pub fn sample(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.line("", labels, value);
    }

    /// Adds a family with a single sample.
    pub fn single(&mut self, name: &'static str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(&[], value);
    }

    pub(super) fn histogram(&mut self, labels: &[Label<'_>], times: &Histogram) {
        self.buckets(labels, times.cumulative(), times.count(), times.sum());
    }

    /// Adds a histogram: the cumulative counts by upper bound, the total count and the sum.
    pub fn buckets(
        &mut self,
        labels: &[Label<'_>],
        cumulative: impl Iterator<Item = (f64, u64)>,
        count: u64,
        sum: f64,
    ) {
        for (bound, count) in cumulative {
            let bound = bound.to_string();
            self.line("_bucket", &[labels, &[("le", &bound)]].concat(), count);
        }
        self.line("_bucket", &[labels, &[("le", "+Inf")]].concat(), count);
        self.line("_sum", labels, sum);
        self.line("_count", labels, count);
    }

    /// The text.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }

    fn line(&mut self, suffix: &str, labels: &[Label<'_>], value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        for (index, (name, label)) in labels.iter().enumerate() {
            let open = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{open}{name}=\"{}\"", escaped(label, true));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }
}

fn escaped(text: &str, quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_are_escaped() {
        let mut page = Page::default();
        page.family("a_total", Kind::Counter, "One \\ line\nof \"help\".");
        page.sample(&[("x", "say \"hi\"\n\\o/ é"), ("y", "")], 3);
        page.single("b", Kind::Gauge, "Other.", 0.25);
        assert_eq!(
            page.finish(),
            "# HELP a_total One \\\\ line\\nof \"help\".\n# TYPE a_total counter\n\
             a_total{x=\"say \\\"hi\\\"\\n\\\\o/ é\",y=\"\"} 3\n# HELP b Other.\n# TYPE b gauge\nb 0.25\n"
        );
    }
}
