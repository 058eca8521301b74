//! The facts about a model. Their written form is in `entry`.

use foreword_prompt::tokens::Tokenizer;
use serde::{Deserialize, Serialize};

use super::{Factor, ModelId, Retention, RetirementDate};
use crate::money::Rate;

/// The facts about a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFacts {
    /// The model.
    pub id: ModelId,
    /// Other names it is found by.
    pub aliases: Vec<ModelId>,
    /// The maximum number of tokens in a request, if known.
    pub context_window: Option<usize>,
    /// The maximum number of output tokens, if known.
    pub max_output: Option<usize>,
    /// The prices, if known.
    pub prices: Option<PriceList>,
    /// The smallest prefix the provider caches, if known.
    pub min_cacheable: Option<usize>,
    /// How long the provider keeps a prefix without explicit breakpoints. Read it through [`ModelFacts::retention`].
    pub cache_retention: Option<Retention>,
    /// The granularity of the cached part of a prompt in tokens, if known.
    pub cache_step: Option<usize>,
    /// Which part of a prompt matches the cache.
    pub cache_match: CacheMatch,
    /// How cache breakpoints are set.
    pub breakpoints: Breakpoints,
    /// The token counter.
    pub tokenizer: Tokenizer,
    /// The measured error of that counter, if it is an estimate.
    pub calibration: Option<KnownFactor>,
    /// The announced retirement date, if any.
    pub retires: Option<RetirementDate>,
    /// Which of these facts no documentation states.
    pub assumed: Vec<Assumed>,
    /// The listed model that these facts are taken from, if the model itself is not listed.
    pub assumed_from: Option<ModelId>,
    /// The source of the facts.
    pub source: Option<String>,
    /// The date of the source.
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

/// How a request marks what to cache.
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
    /// How the request marks what to cache.
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
    /// In ascending order.
    pub(super) tiers: Vec<PriceTier>,
}

impl PriceList {
    /// The prices of a request with `input` tokens. A tier applies to the whole request.
    #[must_use]
    pub fn at(&self, input: usize) -> &Prices {
        let tier = self.tiers.iter().rev().find(|tier| input > tier.above);
        tier.map_or(&self.base, |tier| &tier.prices)
    }

    /// The price tiers, in ascending order.
    #[must_use]
    pub fn tiers(&self) -> &[PriceTier] {
        &self.tiers
    }
}

/// Prices for requests above a size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PriceTier {
    /// Applies to requests with more input tokens than this.
    pub above: usize,
    /// The prices.
    pub prices: Prices,
}

/// Prices per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Prices {
    /// Uncached input.
    pub input: Rate,
    /// Output.
    pub output: Rate,
    /// Cache reads, if known.
    pub cache_read: Option<Rate>,
    /// Cache writes for five minutes, or for as long as the provider keeps them.
    pub cache_write_5m: Option<Rate>,
    /// Cache writes for an hour.
    pub cache_write_1h: Option<Rate>,
    /// Cache writes for twelve hours. OpenAI offers these on Responses only.
    pub cache_write_12h: Option<Rate>,
}
