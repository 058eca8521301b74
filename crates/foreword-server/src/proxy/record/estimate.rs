//! The cost of a call. Estimated if the provider reports no usage: OpenAI reports that of a stream only on request, and
//! a client that does not ask could spend without limit. Estimates count against limits and budgets; the log marks
//! them.

use foreword_core::message::Usage;
use foreword_core::models::ModelFacts;
use foreword_core::money::Price;
use foreword_core::price::cost_of;

use super::tap::BYTES_OF_TOKEN;
use crate::proxy::exchange::Exchange;

/// The reported or estimated cost. Unknown if the call was not answered or the model has no known price.
pub(super) fn price(exchange: &Exchange, facts: Option<&ModelFacts>) -> Price {
    if let Some(cost) = exchange.summary.cost {
        return Price::Known(cost);
    }
    if let Some(usage) = exchange.summary.usage {
        return cost_of(facts, &usage);
    }
    let is_answered = exchange.status.is_some_and(|status| status.is_success());
    if !is_answered || !exchange.route.is_turn() {
        return Price::Unknown;
    }
    let usage = Usage {
        input: (exchange.request.len() as u64).div_ceil(BYTES_OF_TOKEN),
        output: exchange.summary.estimated_output,
        ..Usage::default()
    };
    cost_of(facts, &usage)
}
