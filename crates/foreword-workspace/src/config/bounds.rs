//! Range checks for numbers.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_saphyr::Spanned;

use super::parse::ConfigParser;

/// The maximum of configurable durations: one day.
pub(super) const DAY_MS: u64 = 86_400_000;

impl ConfigParser<'_> {
    /// The written number, or `default`. A number outside `bounds` is refused.
    pub(super) fn within<T: Copy + PartialOrd + Display>(
        &mut self,
        written: Option<&Spanned<T>>,
        key: &str,
        bounds: RangeInclusive<T>,
        default: T,
    ) -> T {
        let Some(written) = written else { return default };
        if bounds.contains(&written.value) {
            return written.value;
        }
        let (least, most) = bounds.into_inner();
        let how = if written.value < least { "too small" } else { "too large" };
        self.refuse(
            written.defined,
            format!("`{key}` is {}, which is {how}", written.value),
            format!("use {least} to {most}, or leave it out for {default}"),
        );
        default
    }

    /// As [`ConfigParser::within`], for a duration of 1 ms to one day.
    pub(super) fn milliseconds(
        &mut self,
        written: Option<&Spanned<u64>>,
        key: &str,
        default: Duration,
    ) -> Duration {
        let default = u64::try_from(default.as_millis()).unwrap_or(DAY_MS);
        Duration::from_millis(self.within(written, key, 1..=DAY_MS, default))
    }
}
