//! The facts about one model, as the rest of the program reads them. How they are written is in `entry`.

use foreword_prompt::tokens::Counter;
use serde::{Deserialize, Serialize};

use super::{Factor, ModelId};
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
    /// How the provider is told what to cache.
    pub breakpoints: Breakpoints,
    /// Who counts its tokens.
    pub tokenizer: Counter,
    /// How far that count is off, if it is an estimate and somebody has measured it.
    pub calibration: Option<KnownFactor>,
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
}
