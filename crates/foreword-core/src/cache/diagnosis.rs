//! The result of a diagnosis: one sentence for people, fields with stable names for programs.

use std::fmt;

use foreword_prompt::text::with_thousands;
use serde::{Serialize, Serializer};

use super::cause::Cause;
use super::shape::SectionName;
use crate::money::Price;

/// Why a request read less from the cache than it could, and the cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// Whether there was a miss.
    pub verdict: CacheVerdict,
    /// The cause; `None` for a hit.
    pub cause: Option<Cause>,
    /// Where the prefix diverged, if it did.
    pub place: Option<DivergencePoint>,
    /// Tokens that were written or processed again although they could have been read. `None` if the provider reported
    /// no cache usage.
    pub tokens_rewritten: Option<u64>,
    /// Tokens that could have been read if the previous request had written them. `None` if it did.
    pub tokens_uncached: Option<u64>,
    /// Tokens read from the cache.
    pub tokens_read: Option<u64>,
    /// Tokens written to the cache.
    pub tokens_written: Option<u64>,
    /// The cost of the tokens that were processed again.
    pub cost: Price,
    /// The cost of reading them instead.
    pub cost_if_hit: Price,
    /// The reason reported by the provider, verbatim.
    pub provider_reason: Option<String>,
    /// Other sufficient causes.
    pub also: Vec<String>,
    /// What the diagnosis could not determine.
    pub unknown: Vec<String>,
    /// The assumed rules that the diagnosis depends on, by their names in the data.
    pub assumed: Vec<&'static str>,
}

/// Whether there was a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheVerdict {
    /// Everything readable was read.
    Hit,
    /// A part of it was read.
    Partial,
    /// Nothing was read.
    Miss,
    /// There was nothing to read.
    NothingToRead,
    /// The provider reports no cache usage.
    NotReported,
    /// What could have been read is unknown.
    Unknown,
}

/// Where a prefix diverged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DivergencePoint {
    /// The section.
    pub section: SectionName,
    /// The layer in the section.
    pub layer: Option<String>,
    /// The byte range, relative to the layer, or to the section if it has no layers.
    pub bytes: Option<(usize, usize)>,
}

impl fmt::Display for DivergencePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((from, _)) = self.bytes {
            write!(f, "byte {from} of ")?;
        }
        match &self.layer {
            Some(layer) => write!(f, "layer `{layer}`"),
            None => self.section.fmt(f),
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count =
            |tokens: Option<u64>| with_thousands(usize::try_from(tokens.unwrap_or(0)).unwrap_or(usize::MAX));
        let read = count(self.tokens_read);
        match self.verdict {
            CacheVerdict::Hit => write!(f, "{read} tokens read, nothing processed again")?,
            CacheVerdict::NothingToRead => write!(f, "nothing to read")?,
            CacheVerdict::NotReported => write!(f, "the provider reported no cache numbers")?,
            CacheVerdict::Unknown => write!(f, "{read} tokens read")?,
            CacheVerdict::Partial | CacheVerdict::Miss => {
                if let Some(tokens) = self.tokens_uncached {
                    write!(f, "{} tokens sent uncached, {read} read", count(Some(tokens)))?;
                    return self.reason(f);
                }
                // Providers that write nothing, or do not report it, still process the tokens again.
                let done = if self.tokens_written.unwrap_or(0) > 0 { "written" } else { "processed" };
                write!(f, "{} tokens {done} again, {read} read", count(self.tokens_rewritten))?;
            }
        }
        self.reason(f)
    }
}

impl Diagnosis {
    /// Appends cause, cost and advice.
    fn reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cause) = &self.cause else { return Ok(()) };
        match &self.place {
            Some(place) => write!(f, "; the prefix diverged at {place}: {cause}")?,
            None => write!(f, "; {cause}")?,
        }
        if let Price::Known(cost) = self.cost
            && self.tokens_rewritten.max(self.tokens_uncached).is_some_and(|tokens| tokens > 0)
        {
            write!(f, "; {cost}")?;
            if let Price::Known(hit) = self.cost_if_hit {
                write!(f, " instead of {hit}")?;
            }
        }
        write!(f, "; {}", cause.advice())
    }
}

/// The fields as serialised. Names are stable.
#[derive(Serialize)]
struct Fields<'a> {
    verdict: CacheVerdict,
    cause: Option<&'a str>,
    detail: Option<String>,
    section: Option<String>,
    layer: Option<&'a str>,
    file: Option<&'a str>,
    bytes: Option<(usize, usize)>,
    tokens_rewritten: Option<u64>,
    tokens_uncached: Option<u64>,
    tokens_read: Option<u64>,
    cost_usd: Price,
    cost_if_hit_usd: Price,
    advice: Option<&'a str>,
    provider_reason: Option<&'a str>,
    also: &'a [String],
    unknown: &'a [String],
    assumed: &'a [&'static str],
}

impl Serialize for Diagnosis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cause = self.cause.as_ref();
        let place = self.place.as_ref();
        let file = match cause {
            Some(Cause::LayerEdited { file, .. }) => file.as_deref(),
            _ => None,
        };
        Fields {
            verdict: self.verdict,
            cause: cause.map(Cause::code),
            detail: cause.map(Cause::to_string),
            section: place.map(|place| place.section.code()),
            layer: place.and_then(|place| place.layer.as_deref()),
            file,
            bytes: place.and_then(|place| place.bytes),
            tokens_rewritten: self.tokens_rewritten,
            tokens_uncached: self.tokens_uncached,
            tokens_read: self.tokens_read,
            cost_usd: self.cost,
            cost_if_hit_usd: self.cost_if_hit,
            advice: cause.map(Cause::advice),
            provider_reason: self.provider_reason.as_deref(),
            also: &self.also,
            unknown: &self.unknown,
            assumed: &self.assumed,
        }
        .serialize(serializer)
    }
}
