//! What came of a diagnosis: one sentence for people, fields with stable names for programs.

use std::fmt;

use foreword_prompt::text::with_thousands;
use serde::{Serialize, Serializer};

use super::cause::Cause;
use super::shape::SectionName;
use crate::money::Price;

/// Why a request did not read from the cache what it might have, and what that cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// Whether anything was missed.
    pub verdict: Verdict,
    /// Why. Nothing, if nothing was missed.
    pub cause: Option<Cause>,
    /// Where the prefix diverged, if it did.
    pub place: Option<Place>,
    /// Tokens that were written or processed again though they might have been read. Unknown if the provider reported
    /// nothing.
    pub tokens_rewritten: Option<u64>,
    /// Tokens that could have been read, had the previous request written them. Nothing where it did write.
    pub tokens_uncached: Option<u64>,
    /// Tokens that were read.
    pub tokens_read: Option<u64>,
    /// Tokens that were written.
    pub tokens_written: Option<u64>,
    /// What the tokens that were processed again cost.
    pub cost: Price,
    /// What reading them would have cost.
    pub cost_if_hit: Price,
    /// Why the provider says it missed, in its own words.
    pub provider_reason: Option<String>,
    /// What else would have been enough for a miss.
    pub also: Vec<String>,
    /// What can't be known, in words.
    pub unknown: Vec<String>,
    /// The rules it rests on that are assumed because no documentation states them, by their names in the data.
    pub assumed: Vec<&'static str>,
}

/// Whether anything was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All that might have been read was.
    Hit,
    /// Some of it was.
    Partial,
    /// Nothing was.
    Miss,
    /// There was nothing to read.
    NothingToRead,
    /// The provider does not say what it read.
    NotReported,
    /// Nobody knows what might have been read.
    Unknown,
}

/// Where a prefix diverged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The section.
    pub section: SectionName,
    /// The layer in it.
    pub layer: Option<String>,
    /// From where to where, in bytes of the layer, or of the section if that has no layers.
    pub bytes: Option<(usize, usize)>,
}

impl fmt::Display for Place {
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
            Verdict::Hit => write!(f, "{read} tokens read, nothing processed again")?,
            Verdict::NothingToRead => write!(f, "nothing to read")?,
            Verdict::NotReported => write!(f, "the provider reported no cache numbers")?,
            Verdict::Unknown => write!(f, "{read} tokens read")?,
            Verdict::Partial | Verdict::Miss => {
                if let Some(tokens) = self.tokens_uncached {
                    write!(f, "{} tokens sent uncached, {read} read", count(Some(tokens)))?;
                    return self.reason(f);
                }
                // A provider that writes nothing, or does not report it, processes the tokens again all the same.
                let done = if self.tokens_written.unwrap_or(0) > 0 { "written" } else { "processed" };
                write!(f, "{} tokens {done} again, {read} read", count(self.tokens_rewritten))?;
            }
        }
        self.reason(f)
    }
}

impl Diagnosis {
    /// Why, what it cost and what to do.
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

/// The fields as programs read them. A name that stands here once stays.
#[derive(Serialize)]
struct Fields<'a> {
    verdict: Verdict,
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
