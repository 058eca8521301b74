//! The facts about one model, as the rest of the program reads them. How they are written is in `entry`.

use foreword_prompt::tokens::Counter;
use serde::{Deserialize, Serialize};

use super::{Factor, ModelId, Retention, RetirementDate};
use crate::money::Rate;

/// What is known about a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFacts {
    /// Which model.
    pub id: ModelId,
    /// Other names it is found by.
    pub aliases: Vec<ModelId>,
    /// The most tokens a request may hold, if known.
    pub context_window: Option<usize>,
    /// The most tokens an answer may have, if known.
    pub max_output: Option<usize>,
    /// What it costs, if known.
    pub prices: Option<PriceList>,
    /// The smallest prefix the provider caches, if known.
    pub min_cacheable: Option<usize>,
    /// How long the provider keeps a prefix, where no breakpoint says it. [`ModelFacts::retention`] is what to read.
    pub cache_retention: Option<Retention>,
    /// The step in which the cached part of a prompt grows, in tokens, if known.
    pub cache_step: Option<usize>,
    /// Which part of a prompt is found in the cache.
    pub cache_match: CacheMatch,
    /// How the provider is told what to cache.
    pub breakpoints: Breakpoints,
    /// Who counts its tokens.
    pub tokenizer: Counter,
    /// How far that count is off, if it is an estimate and somebody has measured it.
    pub calibration: Option<KnownFactor>,
    /// The day from which the provider no longer serves it, if one is announced.
    pub retires: Option<RetirementDate>,
    /// Which of these facts no documentation states.
    pub assumed: Vec<Assumed>,
    /// The model whose facts these are, if the asked one is not listed itself.
    pub assumed_from: Option<ModelId>,
    /// Where the facts are from.
    pub source: Option<String>,
    /// When they were taken from there.
    pub date: Option<String>,
}

impl ModelFacts {
    /// The prices of a request with `input` tokens, if known.
    #[must_use]
    pub fn prices_at(&self, input: usize) -> Option<&Prices> {
        self.prices.as_ref().map(|list| list.at(input))
    }
}

/// How far an estimate was found to be off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownFactor {
    /// What the estimate is multiplied by, from 0.5 to 2: what the provider counts, divided by the estimate.
    pub factor: Factor,
    /// Who measured it, or how.
    pub source: Option<String>,
    /// When.
    pub date: Option<String>,
}

/// How a provider is told what to cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Breakpoints {
    /// By markers in the request; without one nothing is cached.
    Explicit,
    /// It finds the longest prefix it has seen by itself.
    Automatic,
    /// By itself, and by markers in the request too.
    Either,
    /// It does not cache, or is not known to.
    #[default]
    None,
}

/// Which part of a prompt a provider finds in its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheMatch {
    /// The longest prefix it has seen, or the longest one up to a breakpoint.
    #[default]
    Prefix,
    /// Only whole units, such as everything up to the end of an earlier request. A prompt that changes inside a unit
    /// finds nothing of that unit.
    Units,
}

/// A fact that no documentation states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Assumed {
    /// The most tokens a request may hold.
    ContextWindow,
    /// What it costs.
    Prices,
    /// The smallest prefix the provider caches.
    MinCacheable,
    /// How the provider is told what to cache.
    Breakpoints,
    /// How long the provider keeps a prefix.
    CacheRetention,
    /// The step in which the cached part grows.
    CacheStep,
}

impl Assumed {
    /// Everything that can be assumed.
    pub(super) const ALL: [Self; 6] = [
        Self::ContextWindow,
        Self::Prices,
        Self::MinCacheable,
        Self::Breakpoints,
        Self::CacheRetention,
        Self::CacheStep,
    ];
}

/// The prices of a model by the size of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PriceList {
    pub(super) base: Prices,
    /// By rising size.
    pub(super) tiers: Vec<Tier>,
}

impl PriceList {
    /// The prices of a request with `input` tokens. A dearer tier holds for the whole request.
    #[must_use]
    pub fn at(&self, input: usize) -> &Prices {
        let tier = self.tiers.iter().rev().find(|tier| input > tier.above);
        tier.map_or(&self.base, |tier| &tier.prices)
    }

    /// The steps at which requests get dearer, by rising size.
    #[must_use]
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }
}

/// Prices that hold from a size on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tier {
    /// Requests with more input tokens than this.
    pub above: usize,
    /// What they cost.
    pub prices: Prices,
}

/// What a token costs, by what is done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Prices {
    /// Read, and not cached.
    pub input: Rate,
    /// Answered.
    pub output: Rate,
    /// Read from the cache, if known.
    pub cache_read: Option<Rate>,
    /// Written to the cache for five minutes, or for as long as the provider keeps it.
    pub cache_write_5m: Option<Rate>,
    /// Written to the cache for an hour.
    pub cache_write_1h: Option<Rate>,
    /// Written to the cache for twelve hours. OpenAI offers that on Responses only.
    pub cache_write_12h: Option<Rate>,
}
