//! What a call cost, and of one of which the provider has told no numbers, about: OpenAI tells those of a stream only if it is
//! asked to, and whoever does not ask would spend without limit. Held against limits and budgets; the log says that it is an estimate.

use foreword_core::message::Usage;
use foreword_core::models::ModelFacts;
use foreword_core::money::Price;
use foreword_core::price::cost_of;

use super::tap::BYTES_OF_TOKEN;
use crate::proxy::exchange::Exchange;

/// What a call cost, by the numbers of the provider, or about. Not known if it was not answered, or if nobody knows the model's prices.
pub(super) fn price(exchange: &Exchange, facts: Option<&ModelFacts>) -> Price {
    if let Some(cost) = exchange.tapped.cost {
        return Price::Known(cost);
    }
    if let Some(usage) = exchange.tapped.usage {
        return cost_of(facts, &usage);
    }
    let is_answered = exchange.status.is_some_and(|status| status.is_success());
    if !is_answered || !exchange.route.is_turn() {
        return Price::Unknown;
    }
    let usage = Usage {
        input: (exchange.request.len() as u64).div_ceil(BYTES_OF_TOKEN),
        output: exchange.tapped.about_written,
        ..Usage::default()
    };
    cost_of(facts, &usage)
}
