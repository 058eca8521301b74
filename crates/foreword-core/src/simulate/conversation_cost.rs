//! The total cost of a simulated conversation, and its parts.

use serde::Serialize;

use super::request_charge::RequestCharge;
use crate::message::Usage;
use crate::models::ModelFacts;
use crate::money::{Money, Price};
use crate::price::cost_within;

/// The cost of a simulated conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConversationCost {
    /// The total usage.
    pub usage: Usage,
    /// The total cost.
    pub cost: Price,
    /// The cost by part of the requests.
    pub parts: CostParts,
    /// The number of model calls.
    pub calls: usize,
    /// The number of compactions.
    pub summaries: usize,
    /// How often the system prompt changed between turns, the first one included.
    pub prompts: usize,
    /// The cost of each turn, with the compaction after it.
    #[serde(skip)]
    pub turns: Vec<Price>,
}

/// The cost of the parts of all requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CostParts {
    /// Tools and system prompt.
    pub system: Price,
    /// Messages that an earlier request already contained.
    pub history: Price,
    /// Messages that were sent for the first time.
    pub tail: Price,
    /// Output.
    pub answers: Price,
}

const NOTHING: Price = Price::Known(Money::from_picodollars(0));

impl ConversationCost {
    pub(super) fn empty(turns: usize) -> Self {
        let parts = CostParts { system: NOTHING, history: NOTHING, tail: NOTHING, answers: NOTHING };
        let usage = Usage::default();
        Self {
            usage,
            cost: NOTHING,
            parts,
            calls: 0,
            summaries: 0,
            prompts: 0,
            turns: Vec::with_capacity(turns),
        }
    }

    /// The share of input tokens read from the cache, from 0 to 1.
    #[must_use]
    pub fn hit_rate(&self) -> f64 {
        let all = self.usage.input + self.usage.cache_read + self.usage.cache_write;
        if all == 0 { 0.0 } else { self.usage.cache_read as f64 / all as f64 }
    }

    /// The ratio of this cost to that of `other`, if both are known and `other` is not zero.
    #[must_use]
    pub fn times(&self, other: &Self) -> Option<f64> {
        let (this, other) = (self.cost.known()?.dollars(), other.cost.known()?.dollars());
        (other > 0.0).then(|| this / other)
    }

    /// Adds a call: its charge, the ends of the system prompt and of the previously sent messages, and its output
    /// tokens.
    pub(super) fn add(
        &mut self,
        facts: &ModelFacts,
        charged: &RequestCharge,
        system: usize,
        sent: usize,
        output: usize,
    ) {
        // A price tier depends on the whole request, so its parts are not priced as separate requests.
        let whole = charged.total as u64;
        let price = |usage: Usage| cost_within(Some(facts), &usage, whole);
        let answer = Usage { output: output as u64, ..Usage::default() };
        let parts = [
            (&mut self.parts.system, price(charged.between(0..system))),
            (&mut self.parts.history, price(charged.between(system..sent))),
            (&mut self.parts.tail, price(charged.between(sent..charged.total))),
            (&mut self.parts.answers, price(answer)),
        ];
        for (sum, part) in parts {
            *sum = *sum + part;
            self.cost = self.cost + part;
            if let Some(turn) = self.turns.last_mut() {
                *turn = *turn + part;
            }
        }
        self.usage = self.usage + charged.usage() + answer;
        self.calls += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelCatalog;
    use crate::price::cost_of;

    #[test]
    fn cost_parts_add_up_across_tiers() {
        let catalog = ModelCatalog::builtin();
        for model in
            ["anthropic/claude-haiku-4-5", "anthropic/claude-haiku-5-5", "openai/gpt-4o", "openai/gpt-5.6"]
        {
            let facts = catalog.find(model).unwrap();
            for total in [5_000, 100_000, 100_001, 300_000] {
                let charged =
                    RequestCharge { read: total / 2, hour: total / 2, written: total / 2 + 1_000, total };
                let mut costs = ConversationCost::empty(1);
                costs.turns.push(NOTHING);
                costs.add(facts, &charged, 1_000, total - 500, 200);
                let usage = Usage { output: 200, ..charged.usage() };
                assert_eq!(
                    (costs.cost, costs.usage),
                    (cost_of(Some(facts), &usage), usage),
                    "{model} {total}"
                );
                let CostParts { system, history, tail, answers } = costs.parts;
                assert_eq!(system + history + tail + answers, costs.cost);
                assert_eq!(costs.turns, [costs.cost]);
            }
        }
    }

    #[test]
    fn unknown_costs_have_no_ratio() {
        let (mut some, mut unknown) = (ConversationCost::empty(0), ConversationCost::empty(0));
        assert_eq!(some.times(&some), None);
        some.cost = Price::Known(Money::from_picodollars(500));
        unknown.cost = Price::Unknown;
        assert_eq!(some.times(&some), Some(1.0));
        assert_eq!((some.times(&unknown), unknown.times(&some)), (None, None));
        assert_eq!(some.hit_rate().to_bits(), 0.0_f64.to_bits());
    }
}
