//! The kinds of requests, and the printed lines.

use std::time::Duration;

use crate::load::{Body, Load};
use crate::table::{Table, readable};

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    SmallJson,
    SmallStream,
    LargeJson,
    LargeStream,
}

impl Way {
    pub(crate) const ALL: [Self; 4] =
        [Self::SmallJson, Self::SmallStream, Self::LargeJson, Self::LargeStream];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::SmallJson => "small body, answered as JSON",
            Self::SmallStream => "small body, streamed",
            Self::LargeJson => "200 KB, answered as JSON",
            Self::LargeStream => "200 KB, streamed",
        }
    }

    pub(crate) fn is_stream(self) -> bool {
        matches!(self, Self::SmallStream | Self::LargeStream)
    }

    pub(crate) fn body(self) -> String {
        let member = if self.is_stream() {
            "\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        } else {
            ""
        };
        match self {
            Self::SmallJson | Self::SmallStream => Body::Small.with(member),
            Self::LargeJson | Self::LargeStream => Body::Large.with(member),
        }
    }
}

/// The measurements of a gateway.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// One request at a time.
    pub(crate) one: Load,
    /// The highest number of connections with a 99th percentile below 10 ms, or the lowest number tried.
    pub(crate) best: Option<(usize, Load)>,
    /// The CPU time of that many requests.
    pub(crate) processor: Duration,
    pub(crate) requests: usize,
    /// Before, at the peak and after, in MB.
    pub(crate) memory: (f64, f64, f64),
}

impl Figures {
    fn processor_each(&self) -> Duration {
        self.processor / u32::try_from(self.requests.max(1)).unwrap_or(u32::MAX)
    }

    fn per_second(&self) -> f64 {
        self.best.as_ref().map_or(0.0, |(_, load)| load.per_second())
    }
}

pub(crate) fn head(table: &mut Table) {
    table.note(&format!(
        "  {:<20} {:>9} {:>9} {:>10} {:>16} {:>20} {:>22}",
        "", "+p50", "+p99", "first byte", "processor", "requests/s (p99)", "memory MB"
    ));
}

/// Prints one gateway compared with a direct connection and the baseline.
pub(crate) fn line(table: &mut Table, name: &str, found: &Figures, alone: &Figures, floor: &Figures) {
    let added =
        |hundredth| readable(found.one.percentile(hundredth).saturating_sub(alone.one.percentile(hundredth)));
    let each = found.processor_each();
    let ratio = each.as_secs_f64() / floor.processor_each().as_secs_f64().max(1e-9);
    let best = found.best.as_ref().map(|(connections, load)| {
        format!("{:.0} ({}, {connections})", found.per_second(), readable(load.percentile(99)))
    });
    let (before, peak, after) = found.memory;
    table.note(&format!(
        "  {name:<20} {:>9} {:>9} {:>10} {:>16} {:>20} {:>22}",
        added(50),
        added(99),
        readable(found.one.first_byte(50)),
        format!("{} ({ratio:.2} x)", readable(each)),
        best.unwrap_or_default(),
        format!("{before:.0} → {peak:.0} → {after:.0}"),
    ));
}
