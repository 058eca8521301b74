//! A simulation for programs: what `foreword --json simulate` prints. The names are kept.

use foreword_core::money::Price;
use foreword_core::simulate::{Finding, Marking, Parts, Simulated, Way};
use serde::Serialize;

use super::{Compared, Simulation};

/// Everything there is to tell of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulationReport {
    /// Who speaks, where, and to whom.
    pub occasion: Option<SimulatedOccasion>,
    /// The blueprint the prompt was made from.
    pub blueprint: Option<String>,
    /// The conversation.
    pub scenario: Option<SimulatedScenario>,
    /// The bills, a model each.
    pub models: Vec<SimulatedModel>,
    /// What they rest on that nobody measured.
    pub assumptions: Vec<String>,
}

/// Who speaks, where, and to whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedOccasion {
    /// Who.
    pub user: Option<String>,
    /// Where.
    pub channel: Option<String>,
    /// In which kind of place.
    pub situation: String,
    /// To which agent.
    pub agent: String,
}

/// The conversation that was simulated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedScenario {
    /// How many messages somebody writes.
    pub turns: usize,
    /// What each weighs.
    pub message_tokens: usize,
    /// What each answer weighs.
    pub answer_tokens: usize,
    /// How often a tool is called in a turn.
    pub tool_rounds: usize,
    /// What such a call weighs.
    pub tool_call_tokens: usize,
    /// What its result weighs.
    pub tool_result_tokens: usize,
    /// The time between two turns.
    pub pause: String,
    /// A night before every so many turns.
    pub night_every: Option<u32>,
    /// An edited file before every so many turns.
    pub edit_every: Option<u32>,
}

/// The bills with one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulatedModel {
    /// The model.
    pub model: String,
    /// Where its prices are from.
    pub prices: SimulatedPrices,
    /// Who counted its tokens.
    pub counter: String,
    /// How its provider caches.
    pub cache: SimulatedCache,
    /// Above how many tokens a conversation is summed up.
    pub compacted_above_tokens: Option<usize>,
    /// What the definitions of the tools weigh.
    pub tools_tokens: usize,
    /// The bills, a way to send it each.
    pub ways: Vec<SimulatedWay>,
}

/// Where prices are from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedPrices {
    /// Who says so.
    pub source: Option<String>,
    /// As of when.
    pub date: Option<String>,
}

/// How a provider caches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedCache {
    /// What it finds again: `at_marks`, `at_marks_and_the_end`, `at_the_end`, `longest_prefix` or `nothing`.
    pub finds: &'static str,
    /// From how many tokens on.
    pub minimum_tokens: usize,
    /// For how long after its last use.
    pub kept_seconds: u64,
    /// And where an hour is asked for.
    pub kept_seconds_1h: u64,
}

/// The bill of one way to send a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulatedWay {
    /// Which.
    pub way: Way,
    /// What was marked.
    pub marks: Marking,
    /// What its system prompt weighs.
    pub system_tokens: usize,
    /// What was read and written in all.
    pub tokens: SimulatedTokens,
    /// Which part of what was read came from the cache, from 0 to 1.
    pub hit_rate: f64,
    /// What it cost.
    pub cost: Price,
    /// What a turn cost on average.
    pub cost_per_turn: Price,
    /// How many times what the first way cost.
    pub ratio: Option<f64>,
    /// Where the money went.
    pub parts: Parts,
    /// How many calls.
    pub calls: usize,
    /// How often it was summed up.
    pub summaries: usize,
    /// How many system prompts there were.
    pub prompts: usize,
    /// What the turns cost in dollars, in stretches.
    pub cost_curve: Vec<f64>,
}

/// Tokens of a whole conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedTokens {
    /// Read, and in no cache.
    pub input: u64,
    /// Written to the cache.
    pub written: u64,
    /// Of those, for an hour.
    pub written_1h: u64,
    /// Read from the cache.
    pub read: u64,
    /// Written by the model.
    pub output: u64,
}

impl Simulation {
    /// Everything, for programs.
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
        ways: compared.ways.iter().map(|way| told(compared, way)).collect(),
    }
}

fn finds(finding: Finding) -> &'static str {
    match finding {
        Finding::AtMarks { .. } => "at_marks",
        Finding::AtMarksAndTheEnd { .. } => "at_marks_and_the_end",
        Finding::AtTheEnd => "at_the_end",
        Finding::LongestPrefix { .. } => "longest_prefix",
        Finding::Nothing => "nothing",
    }
}

fn told(compared: &Compared, (way, head, simulated): &(Way, usize, Simulated)) -> SimulatedWay {
    let (bill, usage) = (&simulated.bill, &simulated.bill.usage);
    SimulatedWay {
        way: *way,
        marks: simulated.marking,
        system_tokens: *head,
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
