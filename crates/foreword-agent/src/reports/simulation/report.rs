//! A simulation report for programs: the output of `foreword --json simulate`. Its field names are stable.

use foreword_core::money::Price;
use foreword_core::simulate::{BreakpointPlacement, CacheLookup, CostParts, SendStrategy, Simulated};
use serde::Serialize;

use super::{Compared, Simulation};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulationReport {
    /// The user, channel, situation and agent.
    pub occasion: Option<SimulatedOccasion>,
    /// The blueprint of the prompt.
    pub blueprint: Option<String>,
    /// The conversation.
    pub scenario: Option<SimulatedScenario>,
    /// The estimates, one per model.
    pub models: Vec<SimulatedModel>,
    /// The assumptions behind the estimates.
    pub assumptions: Vec<String>,
}

/// The user, channel, situation and agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedOccasion {
    pub user: Option<String>,
    pub channel: Option<String>,
    pub situation: String,
    pub agent: String,
}

/// The conversation that was simulated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedScenario {
    /// The number of user messages.
    pub turns: usize,
    /// The tokens of each message.
    pub message_tokens: usize,
    /// The tokens of each answer.
    pub answer_tokens: usize,
    /// The number of tool calls per turn.
    pub tool_rounds: usize,
    pub tool_call_tokens: usize,
    pub tool_result_tokens: usize,
    /// The time between two turns.
    pub pause: String,
    /// A night before every this many turns.
    pub night_every: Option<u32>,
    /// An edited file before every this many turns.
    pub edit_every: Option<u32>,
}

/// The estimates for one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulatedModel {
    pub model: String,
    /// The source of its prices.
    pub prices: SimulatedPrices,
    /// The token counter.
    pub counter: String,
    /// The provider's caching rules.
    pub cache: SimulatedCache,
    /// The number of tokens above which a conversation is compacted.
    pub compacted_above_tokens: Option<usize>,
    /// The tokens of the tool definitions.
    pub tools_tokens: usize,
    /// The estimates, one per sending strategy.
    pub strategies: Vec<SimulatedStrategy>,
}

/// The source of prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedPrices {
    pub source: Option<String>,
    pub date: Option<String>,
}

/// The caching rules of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedCache {
    /// Which prefixes it finds again: `at_marks`, `at_marks_and_the_end`, `at_the_end`, `longest_prefix` or `nothing`.
    pub lookup: &'static str,
    /// The minimum cacheable size, in tokens.
    pub minimum_tokens: usize,
    /// The cache lifetime after the last use, in seconds.
    pub ttl_seconds: u64,
    /// The lifetime if one hour is requested.
    pub ttl_seconds_1h: u64,
}

/// The estimate for one sending strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulatedStrategy {
    /// How the conversation is sent.
    pub strategy: SendStrategy,
    /// Where breakpoints were set.
    pub breakpoints: BreakpointPlacement,
    /// Tokens of the system prompt.
    pub system_tokens: usize,
    /// The total tokens.
    pub tokens: SimulatedTokens,
    /// The fraction of input tokens read from the cache, from 0 to 1.
    pub hit_rate: f64,
    pub cost: Price,
    /// The average cost of a turn.
    pub cost_per_turn: Price,
    /// The cost relative to the first strategy.
    pub ratio: Option<f64>,
    /// The parts of the cost.
    pub parts: CostParts,
    /// How many calls.
    pub calls: usize,
    /// The number of compactions.
    pub summaries: usize,
    /// The number of distinct system prompts.
    pub prompts: usize,
    /// The cost of the turns in dollars, averaged in sections.
    pub cost_curve: Vec<f64>,
}

/// The tokens of a whole conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedTokens {
    /// Uncached input.
    pub input: u64,
    /// Written to the cache.
    pub written: u64,
    /// Of those, with a lifetime of one hour.
    pub written_1h: u64,
    /// Read from the cache.
    pub read: u64,
    /// Model output.
    pub output: u64,
}

impl Simulation {
    /// The report for programs.
    #[must_use]
    pub fn report(&self) -> SimulationReport {
        let first = self.comparisons.first();
        let occasion = first.map(|compared| {
            let occasion = &compared.built.occasion;
            SimulatedOccasion {
                user: occasion.user.as_deref().map(str::to_owned),
                channel: occasion.channel.as_ref().map(|channel| channel.as_str().to_owned()),
                situation: occasion.situation.to_string(),
                agent: occasion.agent.to_string(),
            }
        });
        SimulationReport {
            occasion,
            blueprint: first.map(|compared| compared.built.prompt.facts.blueprint.to_string()),
            scenario: first.map(|compared| self.scenario(compared)),
            models: self.comparisons.iter().map(model).collect(),
            assumptions: self.assumed.clone(),
        }
    }

    fn scenario(&self, compared: &Compared) -> SimulatedScenario {
        let scenario = &compared.scenario;
        SimulatedScenario {
            turns: scenario.turns,
            message_tokens: scenario.message,
            answer_tokens: scenario.answer,
            tool_rounds: scenario.tool_rounds,
            tool_call_tokens: scenario.tool_call,
            tool_result_tokens: scenario.tool_result,
            pause: self.params.pause_text.clone(),
            night_every: self.params.night_every,
            edit_every: self.params.edit_every,
        }
    }
}

fn model(compared: &Compared) -> SimulatedModel {
    let Compared { facts, rules, scenario, sizes, .. } = compared;
    let strategies = compared.strategies.iter();
    SimulatedModel {
        model: facts.id.to_string(),
        prices: SimulatedPrices { source: facts.source.clone(), date: facts.date.clone() },
        counter: facts.tokenizer.to_string(),
        cache: SimulatedCache {
            lookup: lookup(rules.finding),
            minimum_tokens: rules.minimum,
            ttl_seconds: rules.kept,
            ttl_seconds_1h: rules.kept_for_an_hour,
        },
        compacted_above_tokens: scenario.compact_above,
        tools_tokens: sizes.tools,
        strategies: strategies
            .map(|(strategy, head, simulated)| simulated_strategy(compared, *strategy, *head, simulated))
            .collect(),
    }
}

fn lookup(finding: CacheLookup) -> &'static str {
    match finding {
        CacheLookup::AtMarks { .. } => "at_marks",
        CacheLookup::AtMarksAndTheEnd { .. } => "at_marks_and_the_end",
        CacheLookup::AtTheEnd => "at_the_end",
        CacheLookup::LongestPrefix { .. } => "longest_prefix",
        CacheLookup::Nothing => "nothing",
    }
}

fn simulated_strategy(
    compared: &Compared,
    strategy: SendStrategy,
    head: usize,
    simulated: &Simulated,
) -> SimulatedStrategy {
    let (costs, usage) = (&simulated.costs, &simulated.costs.usage);
    SimulatedStrategy {
        strategy,
        breakpoints: simulated.marking,
        system_tokens: head,
        tokens: SimulatedTokens {
            input: usage.input,
            written: usage.cache_write,
            written_1h: usage.cache_write_1h,
            read: usage.cache_read,
            output: usage.output,
        },
        hit_rate: costs.hit_rate(),
        cost: costs.cost,
        cost_per_turn: Compared::per_turn(costs),
        ratio: compared.frozen().and_then(|frozen| costs.times(&frozen.costs)),
        parts: costs.parts,
        calls: costs.calls,
        summaries: costs.summaries,
        prompts: costs.prompts,
        cost_curve: Compared::curve(simulated),
    }
}
