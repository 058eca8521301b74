//! The cache hit rate over many calls, weighted by tokens. Calls without reported cache usage are counted separately,
//! not as misses.

use std::fmt;

use foreword_prompt::text::with_thousands;
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

use super::evidence::Reported;

/// The share of input tokens read from the cache.
///
/// ```
/// use foreword_core::cache::{HitRate, Reported};
/// use foreword_core::message::Usage;
///
/// let mut rate = HitRate::default();
/// assert_eq!(rate.to_string(), "not reported");
/// rate.add(&Reported::WithCache(Usage { input: 1_000, cache_read: 3_000, ..Usage::default() }));
/// rate.add(&Reported::WithoutCache(Usage { input: 9_000, ..Usage::default() }));
/// assert_eq!(rate.to_string(), "75.0 % of 4,000 input tokens; 1 call reported nothing");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HitRate {
    read: u64,
    whole: u64,
    calls: u64,
    unreported: u64,
}

impl HitRate {
    /// Adds a call.
    pub fn add(&mut self, reported: &Reported) {
        let Some(usage) = reported.cache() else {
            self.unreported += 1;
            return;
        };
        self.calls += 1;
        self.read = self.read.saturating_add(usage.cache_read);
        self.whole = self.whole.saturating_add(reported.whole());
    }

    /// From 0 to 1; `None` if no call reported cache usage.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.whole > 0).then(|| self.read as f64 / self.whole as f64)
    }

    /// Tokens read from the cache.
    #[must_use]
    pub fn tokens_read(&self) -> u64 {
        self.read
    }

    /// All input tokens of the calls that reported cache usage.
    #[must_use]
    pub fn input_tokens(&self) -> u64 {
        self.whole
    }

    /// The number of calls that reported cache usage.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The number of calls that did not.
    #[must_use]
    pub fn unreported(&self) -> u64 {
        self.unreported
    }
}

impl fmt::Display for HitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.share() {
            // Rounded down, so that only a full hit rate shows as 100 %.
            Some(share) => {
                let whole = with_thousands(usize::try_from(self.whole).unwrap_or(usize::MAX));
                write!(f, "{:.1} % of {whole} input tokens", (share * 1_000.0).floor() / 10.0)?;
            }
            None => f.write_str("not reported")?,
        }
        match self.unreported {
            0 => Ok(()),
            1 => f.write_str("; 1 call reported nothing"),
            calls => write!(f, "; {calls} calls reported nothing"),
        }
    }
}

impl Serialize for HitRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("HitRate", 5)?;
        fields.serialize_field("hit_rate", &self.share())?;
        fields.serialize_field("tokens_read", &self.read)?;
        fields.serialize_field("input_tokens", &self.whole)?;
        fields.serialize_field("calls", &self.calls)?;
        fields.serialize_field("calls_unreported", &self.unreported)?;
        fields.end()
    }
}
