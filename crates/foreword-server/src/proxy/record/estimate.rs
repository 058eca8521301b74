//! What a call cost, and of one of which the provider has told no numbers, about: OpenAI tells those of a stream only if it is
//! asked to, and whoever does not ask would spend without limit. Held against limits and budgets; the log says that it is an estimate.

use foreword_core::message::Usage;
use foreword_core::models::ModelFacts;
use foreword_core::money::Price;
use foreword_core::price::cost_of;

use crate::proxy::body::RequestBody;
use crate::proxy::exchange::Exchange;

/// How many bytes of a request make a token.
const PER_INPUT: u64 = 4;
/// How many bytes of a whole answer do.
const PER_OUTPUT: u64 = 4;
/// How many of a stream: each piece has much around it. Rather too few than too many, because thoughts that are not shown are
/// paid for too.
const PER_STREAMED: u64 = 32;

/// What a call cost, by the numbers of the provider, or about. Not known if it was not answered, or if nobody knows the model's prices.
pub(super) fn price(exchange: &Exchange, facts: Option<&ModelFacts>) -> Price {
    if let Some(usage) = exchange.tapped.usage {
        return cost_of(facts, &usage);
    }
    let is_answered = exchange.status.is_some_and(|status| status.is_success());
    if !is_answered || !exchange.route.is_turn() {
        return Price::Unknown;
    }
    let body = RequestBody::read(&exchange.request).ok();
    let is_stream = body.is_some_and(|body| body.setting("stream") == Some(b"true"));
    let per_output = if is_stream { PER_STREAMED } else { PER_OUTPUT };
    let usage = Usage {
        input: (exchange.request.len() as u64).div_ceil(PER_INPUT),
        output: exchange.tapped.bytes.div_ceil(per_output),
        ..Usage::default()
    };
    cost_of(facts, &usage)
}
