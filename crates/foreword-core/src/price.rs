//! What a turn's prompt costs: cold, when the provider has to write it to its cache, and warm, when it is read from
//! there. A model whose prices nobody knows costs "unknown", never nothing.

use std::fmt;

use serde::Serialize;

use crate::models::{Breakpoints, ModelFacts, Rates};
use crate::money::Money;

/// A price, if it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Price {
    /// This much.
    Known(Money),
    /// Nobody knows.
    Unknown,
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(money) => money.fmt(f),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// What the prompt of one turn costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TurnPrice {
    /// When nothing of it is cached yet.
    pub cold: Price,
    /// When the frozen part is.
    pub warm: Price,
}

/// The price of a prompt of `frozen` tokens that stay and `tail` tokens that don't.
///
/// ```
/// use foreword_core::models::ModelCatalog;
/// use foreword_core::price::{turn_price, Price};
/// let models = ModelCatalog::builtin();
/// let price = turn_price(models.find("anthropic/claude-sonnet-4-5"), 10_000, 100);
/// let (Price::Known(cold), Price::Known(warm)) = (price.cold, price.warm) else { unreachable!() };
/// assert!(warm < cold);
/// assert_eq!(turn_price(None, 10_000, 100).cold.to_string(), "unknown");
/// ```
#[must_use]
pub fn turn_price(model: Option<&ModelFacts>, frozen: usize, tail: usize) -> TurnPrice {
    let rates = model.and_then(|model| Some((model, rates_for(model, frozen + tail)?)));
    let Some((model, rates)) = rates else {
        return TurnPrice { cold: Price::Unknown, warm: Price::Unknown };
    };
    let tail = rates.input.times(tail);
    let plain = Price::Known(rates.input.times(frozen) + tail);
    let cacheable = model.breakpoints != Breakpoints::None && frozen >= model.min_cacheable;
    match rates.cache_read.filter(|_| cacheable && frozen > 0) {
        Some(read) => TurnPrice {
            cold: Price::Known(rates.cache_write.unwrap_or(rates.input).times(frozen) + tail),
            warm: Price::Known(read.times(frozen) + tail),
        },
        None => TurnPrice { cold: plain, warm: plain },
    }
}

/// The rates for a request of this size.
fn rates_for(model: &ModelFacts, tokens: usize) -> Option<Rates> {
    model.rates.as_ref()?.iter().rev().find(|rates| tokens > rates.above || rates.above == 0).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelCatalog;

    #[test]
    fn a_warm_turn_never_costs_more_than_a_cold_one() {
        let models = ModelCatalog::builtin();
        for model in models.models() {
            for frozen in [0, 100, 1_023, 1_024, 5_000, 150_000, 400_000] {
                let price = turn_price(Some(model), frozen, 300);
                if let (Price::Known(cold), Price::Known(warm)) = (price.cold, price.warm) {
                    assert!(warm <= cold, "{} at {frozen}", model.id);
                }
            }
        }
    }

    #[test]
    fn a_prompt_below_the_models_minimum_is_plain_input() {
        let models = ModelCatalog::builtin();
        let model = models.find("anthropic/claude-sonnet-4-5").unwrap();
        let price = turn_price(Some(model), model.min_cacheable - 1, 0);
        assert_eq!(price.cold, price.warm);
    }

    #[test]
    fn an_unknown_model_costs_unknown_and_the_offline_model_costs_nothing() {
        let models = ModelCatalog::builtin();
        assert_eq!(turn_price(models.find("local/llama"), 9_000, 9).warm, Price::Unknown);
        assert_eq!(turn_price(models.find("offline/echo"), 9_000, 9).cold.to_string(), "$0");
    }

    #[test]
    fn a_larger_request_is_billed_by_its_tier() {
        let models = ModelCatalog::builtin();
        let tiered = models
            .models()
            .iter()
            .find(|model| model.rates.as_ref().is_some_and(|rates| rates.len() > 1))
            .unwrap();
        let rates = tiered.rates.as_ref().unwrap();
        assert_eq!(rates_for(tiered, rates[1].above).unwrap(), rates[0]);
        assert_eq!(rates_for(tiered, rates[1].above + 1).unwrap(), rates[1]);
    }
}
