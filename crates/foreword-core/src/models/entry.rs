//! The written form of a model, in `data/models.yaml` and under `prices` in `foreword.yaml`. Only syntax is checked
//! here; [`super::ModelCatalog`] converts it to facts.

use foreword_prompt::tokens::Tokenizer;
use serde::Deserialize;

use super::facts::{Assumed, Breakpoints, CacheMatch, KnownFactor, ModelFacts, PriceList, PriceTier, Prices};
use super::{CatalogError, ModelId, Retention, RetirementDate};
use crate::money::Rate;

/// The facts of a model in a file. For a known model, omitted facts stay unchanged; `prices` are
/// replaced as a whole, because they belong together.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// Provider and name, such as `anthropic/claude-haiku-4-5`.
    pub id: ModelId,
    /// Other names it is found by, each with its provider.
    pub aliases: Option<Vec<ModelId>>,
    /// The most tokens a request may hold.
    pub context_window: Option<usize>,
    /// The most tokens an answer may have.
    pub max_output: Option<usize>,
    /// What it costs, in US dollars per million tokens.
    pub prices: Option<PriceEntry>,
    /// The smallest prefix the provider caches, in tokens.
    pub min_cacheable: Option<usize>,
    /// How long the provider keeps a cached prefix after its last use. Not for `breakpoints: explicit`, where the
    /// breakpoint says it.
    pub cache_retention: Option<Retention>,
    /// The step in which the cached part of a prompt grows, in tokens.
    pub cache_step: Option<usize>,
    /// Which part of a prompt the provider finds in its cache: `prefix` (default) or `units`.
    pub cache_match: Option<CacheMatch>,
    /// How the request marks what to cache. Default: `none`.
    pub breakpoints: Option<Breakpoints>,
    /// Who counts its tokens: `o200k_base`, `cl100k_base`, `estimate-v1` (default) or `estimate-claude-v1`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub tokenizer: Option<Tokenizer>,
    /// How far an estimate of its tokens was found to be off. Only where answers begin: each answer's usage corrects it
    /// further.
    pub calibration: Option<KnownFactor>,
    /// The day from which the provider no longer serves it, such as `2026-11-30`.
    pub retires: Option<RetirementDate>,
    /// Which of these facts are assumed because no documentation states them.
    pub assumed: Option<Vec<Assumed>>,
    /// Where you know this from.
    pub source: Option<String>,
    /// When it was true.
    pub date: Option<String>,
}

/// What a model costs, in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PriceEntry {
    /// Tokens read, and not cached.
    pub input: Rate,
    /// Tokens answered.
    pub output: Rate,
    /// Tokens read from the cache.
    pub cache_read: Option<Rate>,
    /// Tokens written to the cache for five minutes, or for as long as the provider keeps them.
    pub cache_write_5m: Option<Rate>,
    /// Tokens written to the cache for an hour.
    pub cache_write_1h: Option<Rate>,
    /// Tokens written to the cache for twelve hours.
    pub cache_write_12h: Option<Rate>,
    /// Prices that hold for requests above a size, by rising size.
    #[serde(default)]
    pub tiers: Vec<TierEntry>,
}

/// Prices that hold for requests above a size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TierEntry {
    /// Requests with more input tokens than this.
    pub above: usize,
    /// Tokens read, and not cached.
    pub input: Rate,
    /// Tokens answered.
    pub output: Rate,
    /// Tokens read from the cache.
    pub cache_read: Option<Rate>,
    /// Tokens written to the cache for five minutes, or for as long as the provider keeps them.
    pub cache_write_5m: Option<Rate>,
    /// Tokens written to the cache for an hour.
    pub cache_write_1h: Option<Rate>,
    /// Tokens written to the cache for twelve hours.
    pub cache_write_12h: Option<Rate>,
}

impl ModelEntry {
    /// The facts after applying this entry to the known facts, if any.
    pub(super) fn applied_to(self, known: Option<&ModelFacts>) -> Result<ModelFacts, CatalogError> {
        let assumed = self.assumed_with(known);
        let prices = match self.prices {
            Some(written) => Some(written.into_list(&self.id)?),
            None => known.and_then(|facts| facts.prices.clone()),
        };
        let tokenizer = self.tokenizer.or(known.map(|facts| facts.tokenizer)).unwrap_or_default();
        if self.calibration.is_some() && tokenizer.is_exact() {
            return Err(CatalogError::ExactCalibrated { id: self.id, tokenizer });
        }
        if self.cache_retention.is_some_and(|retention| !retention.is_ordered()) {
            return Err(CatalogError::RetentionOutOfOrder { id: self.id });
        }
        // A calibration measured with one counter does not apply to another.
        let same_counter = known.filter(|facts| facts.tokenizer == tokenizer);
        let known_factor = same_counter.and_then(|facts| facts.calibration.clone());
        Ok(ModelFacts {
            aliases: self.aliases.or_else(|| known.map(|facts| facts.aliases.clone())).unwrap_or_default(),
            context_window: self.context_window.or(known.and_then(|facts| facts.context_window)),
            max_output: self.max_output.or(known.and_then(|facts| facts.max_output)),
            prices,
            min_cacheable: self.min_cacheable.or(known.and_then(|facts| facts.min_cacheable)),
            cache_retention: self.cache_retention.or(known.and_then(|facts| facts.cache_retention)),
            cache_step: self.cache_step.or(known.and_then(|facts| facts.cache_step)),
            cache_match: self.cache_match.or(known.map(|facts| facts.cache_match)).unwrap_or_default(),
            breakpoints: self.breakpoints.or(known.map(|facts| facts.breakpoints)).unwrap_or_default(),
            tokenizer,
            calibration: self.calibration.or(known_factor),
            retires: self.retires.or(known.and_then(|facts| facts.retires)),
            assumed,
            assumed_from: None,
            source: self.source.or_else(|| known.and_then(|facts| facts.source.clone())),
            date: self.date.or_else(|| known.and_then(|facts| facts.date.clone())),
            id: self.id,
        })
    }
}

impl ModelEntry {
    /// The assumed facts after applying this entry: a stated fact is no longer assumed, unless the entry lists it in
    /// `assumed`.
    fn assumed_with(&self, known: Option<&ModelFacts>) -> Vec<Assumed> {
        if let Some(assumed) = &self.assumed {
            return assumed.clone();
        }
        let is_stated = |fact: &Assumed| match fact {
            Assumed::ContextWindow => self.context_window.is_some(),
            Assumed::Prices => self.prices.is_some(),
            Assumed::MinCacheable => self.min_cacheable.is_some(),
            Assumed::Breakpoints => self.breakpoints.is_some(),
            Assumed::CacheRetention => self.cache_retention.is_some(),
            Assumed::CacheStep => self.cache_step.is_some(),
        };
        let assumed = known.map_or(&[][..], |facts| &facts.assumed);
        assumed.iter().copied().filter(|fact| !is_stated(fact)).collect()
    }
}

impl PriceEntry {
    fn into_list(self, id: &ModelId) -> Result<PriceList, CatalogError> {
        if !self.tiers.is_sorted_by(|a, b| a.above < b.above) {
            return Err(CatalogError::TiersOutOfOrder { id: id.clone() });
        }
        let base = Prices {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write_5m,
            cache_write_1h: self.cache_write_1h,
            cache_write_12h: self.cache_write_12h,
        };
        Ok(PriceList { base, tiers: self.tiers.into_iter().map(TierEntry::into_tier).collect() })
    }
}

impl TierEntry {
    fn into_tier(self) -> PriceTier {
        let prices = Prices {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write_5m,
            cache_write_1h: self.cache_write_1h,
            cache_write_12h: self.cache_write_12h,
        };
        PriceTier { above: self.above, prices }
    }
}
