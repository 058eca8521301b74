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
    pub ways: Vec<SimulatedWay>,
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
    pub finds: &'static str,
    /// The minimum cacheable size, in tokens.
    pub minimum_tokens: usize,
    /// The cache lifetime after the last use, in seconds.
    pub kept_seconds: u64,
    /// The lifetime if one hour is requested.
    pub kept_seconds_1h: u64,
}

/// The estimate for one sending strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulatedWay {
    /// Which.
    pub way: SendStrategy,
    /// What was marked.
    pub marks: BreakpointPlacement,
    /// What its system prompt weighs.
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
    /// Where the money went.
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
        let first = self.bills.first();
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
            models: self.bills.iter().map(model).collect(),
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
            pause: self.wish.pause_text.clone(),
            night_every: self.wish.night_every,
            edit_every: self.wish.edit_every,
        }
    }
}

fn model(compared: &Compared) -> SimulatedModel {
    let Compared { facts, rules, scenario, sizes, .. } = compared;
    let ways = compared.ways.iter();
    SimulatedModel {
        model: facts.id.to_string(),
        prices: SimulatedPrices { source: facts.source.clone(), date: facts.date.clone() },
        counter: facts.tokenizer.to_string(),
        cache: SimulatedCache {
            finds: finds(rules.finding),
            minimum_tokens: rules.minimum,
            kept_seconds: rules.kept,
            kept_seconds_1h: rules.kept_for_an_hour,
        },
        compacted_above_tokens: scenario.compact_above,
        tools_tokens: sizes.tools,
        ways: ways.map(|(way, head, simulated)| simulated_way(compared, *way, *head, simulated)).collect(),
    }
}

fn finds(finding: CacheLookup) -> &'static str {
    match finding {
        CacheLookup::AtMarks { .. } => "at_marks",
        CacheLookup::AtMarksAndTheEnd { .. } => "at_marks_and_the_end",
        CacheLookup::AtTheEnd => "at_the_end",
        CacheLookup::LongestPrefix { .. } => "longest_prefix",
        CacheLookup::Nothing => "nothing",
    }
}

fn simulated_way(compared: &Compared, way: SendStrategy, head: usize, simulated: &Simulated) -> SimulatedWay {
    let (bill, usage) = (&simulated.bill, &simulated.bill.usage);
    SimulatedWay {
        way,
        marks: simulated.marking,
        system_tokens: head,
        tokens: SimulatedTokens {
            input: usage.input,
            written: usage.cache_write,
            written_1h: usage.cache_write_1h,
            read: usage.cache_read,
            output: usage.output,
        },
        hit_rate: bill.hit_rate(),
        cost: bill.cost,
        cost_per_turn: Compared::per_turn(bill),
        ratio: compared.frozen().and_then(|frozen| bill.times(&frozen.bill)),
        parts: bill.parts,
        calls: bill.calls,
        summaries: bill.summaries,
        prompts: bill.prompts,
        cost_curve: Compared::curve(simulated),
    }
}
