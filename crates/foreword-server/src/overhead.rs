//! The time that the server adds to a proxied request: the total less the time spent waiting for the provider. A
//! lock-free histogram.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foreword_core::provider::WireDialect;
use foreword_observe::metrics::text::{Kind, Page};

/// The upper bounds of the buckets in microseconds. A typical request adds less than a few hundred.
const BOUNDS: [u64; 13] = [10, 25, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/// The added time, by dialect.
#[derive(Debug, Default)]
pub(crate) struct Overhead {
    anthropic: Histogram,
    openai: Histogram,
}

/// A histogram of durations.
#[derive(Debug, Default)]
struct Histogram {
    /// The observations per bucket; the last bucket has no upper bound.
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Overhead {
    /// Counts a request with this overhead.
    pub(crate) fn record(&self, dialect: WireDialect, added: Duration) {
        let times = match dialect {
            WireDialect::Anthropic => &self.anthropic,
            WireDialect::OpenAi => &self.openai,
        };
        times.observe(added);
    }

    pub(crate) fn write(&self, page: &mut Page) {
        let help = "Time the server adds to requests of drop-in endpoints, without waiting for the provider.";
        page.family("foreword_proxy_overhead_seconds", Kind::Histogram, help);
        for (dialect, times) in [("anthropic", &self.anthropic), ("openai", &self.openai)] {
            times.write(page, dialect);
        }
    }
}

impl Histogram {
    fn observe(&self, took: Duration) {
        let micros = took.as_nanos().div_ceil(1_000);
        let bucket = BOUNDS.iter().position(|bound| micros <= u128::from(*bound)).unwrap_or(BOUNDS.len());
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn write(&self, page: &mut Page, dialect: &str) {
        let counts: Vec<u64> = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let bounds = BOUNDS.iter().zip(&counts).scan(0, |total, (bound, count)| {
            *total += count;
            Some((*bound as f64 / 1_000_000.0, *total))
        });
        let sum = self.nanoseconds.load(Ordering::Relaxed) as f64 / 1_000_000_000.0;
        page.buckets(&[("dialect", dialect)], bounds, counts.iter().sum(), sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_counted_in_its_bucket() {
        let overhead = Overhead::default();
        for micros in [10, 11, 150, 200_000] {
            overhead.record(WireDialect::Anthropic, Duration::from_micros(micros));
        }
        let mut page = Page::default();
        overhead.write(&mut page);
        let text = page.finish();
        for line in [
            "foreword_proxy_overhead_seconds_bucket{dialect=\"anthropic\",le=\"0.00001\"} 1",
            "foreword_proxy_overhead_seconds_bucket{dialect=\"anthropic\",le=\"0.000025\"} 2",
            "foreword_proxy_overhead_seconds_bucket{dialect=\"anthropic\",le=\"0.1\"} 3",
            "foreword_proxy_overhead_seconds_bucket{dialect=\"anthropic\",le=\"+Inf\"} 4",
            "foreword_proxy_overhead_seconds_count{dialect=\"openai\"} 0",
            "foreword_proxy_overhead_seconds_sum{dialect=\"anthropic\"} 0.200171",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line} in\n{text}");
        }
    }
}
