//! A simulation as it is told: the JSON of `foreword simulate`.

use foreword_agent::simulation::{
    SimulatedCache, SimulatedModel, SimulatedOccasion, SimulatedScenario, SimulatedTokens, SimulatedWay,
    SimulationReport,
};
use foreword_core::money::Price;
use foreword_core::simulate::{Marking, Parts, Way};
use serde::Serialize;
use utoipa::ToSchema;

/// The bills of one conversation, with each model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Simulation)]
pub(super) struct SimulationBody {
    /// Who speaks, where, and to whom.
    occasion: Option<OccasionBody>,
    /// The blueprint the prompt was made from.
    blueprint: Option<String>,
    /// The conversation.
    scenario: Option<ScenarioBody>,
    /// The bills, a model each.
    models: Vec<ModelBody>,
    /// What they rest on that nobody measured, in sentences.
    assumptions: Vec<String>,
}

/// Who speaks, where, and to whom.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedOccasion)]
struct OccasionBody {
    /// Who.
    user: Option<String>,
    /// Where.
    channel: Option<String>,
    /// In which kind of place.
    situation: String,
    /// To which agent.
    agent: String,
}

/// The conversation that was simulated.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedScenario)]
struct ScenarioBody {
    /// How many messages somebody writes.
    turns: usize,
    /// What each weighs.
    message_tokens: usize,
    /// What each answer weighs.
    answer_tokens: usize,
    /// How often a tool is called in a turn.
    tool_rounds: usize,
    /// What such a call weighs.
    tool_call_tokens: usize,
    /// What its result weighs.
    tool_result_tokens: usize,
    /// The time between two turns.
    #[schema(example = "90s")]
    pause: String,
    /// A night before every so many turns.
    night_every: Option<u32>,
    /// An edited file before every so many turns.
    edit_every: Option<u32>,
}

/// The bills with one model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedModel)]
struct ModelBody {
    /// The model.
    model: String,
    /// Where its prices are from.
    prices: PricesBody,
    /// Who counted its tokens.
    counter: String,
    /// How its provider caches.
    cache: CacheBody,
    /// Above how many tokens a conversation is summed up.
    compacted_above_tokens: Option<usize>,
    /// What the definitions of the tools weigh.
    tools_tokens: usize,
    /// The bills, a way to send it each; the first is what the others are compared with.
    ways: Vec<WayBody>,
}

/// Where prices are from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedPrices)]
struct PricesBody {
    /// Who says so.
    source: Option<String>,
    /// As of when.
    date: Option<String>,
}

/// How a provider caches.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedCache)]
struct CacheBody {
    /// What it finds again: `at_marks`, `at_marks_and_the_end`, `at_the_end`, `longest_prefix` or `nothing`.
    #[schema(example = "at_marks")]
    finds: &'static str,
    /// From how many tokens on.
    minimum_tokens: usize,
    /// For how long after its last use.
    kept_seconds: u64,
    /// And where an hour is asked for.
    kept_seconds_1h: u64,
}

/// The bill of one way to send a conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedWay)]
struct WayBody {
    /// `freeze_then_append`, `rebuild_each_turn` or `inject_everything`.
    #[schema(value_type = String, example = "freeze_then_append")]
    way: Way,
    /// What was marked: `nothing`, `stable_system`, `system` or `system_and_conversation`.
    #[schema(value_type = String, example = "system_and_conversation")]
    marks: Marking,
    /// What its system prompt weighs.
    system_tokens: usize,
    /// What was read and written in all.
    tokens: TokensBody,
    /// Which part of what was read came from the cache, from 0 to 1.
    hit_rate: f64,
    /// US dollars; `null` if a price is not known.
    #[schema(value_type = Option<f64>)]
    cost: Price,
    /// US dollars a turn, on average.
    #[schema(value_type = Option<f64>)]
    cost_per_turn: Price,
    /// How many times what the first way cost.
    ratio: Option<f64>,
    /// Where the money went.
    parts: PartsBody,
    /// How many calls.
    calls: usize,
    /// How often it was summed up.
    summaries: usize,
    /// How many system prompts there were.
    prompts: usize,
    /// What the turns cost in US dollars, from the first to the last, in stretches.
    cost_curve: Vec<f64>,
}

/// Tokens of a whole conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedTokens)]
struct TokensBody {
    /// Read, and in no cache.
    input: u64,
    /// Written to the cache.
    written: u64,
    /// Of those, for an hour.
    written_1h: u64,
    /// Read from the cache.
    read: u64,
    /// Written by the model.
    output: u64,
}

/// Where the money went, in US dollars.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedParts)]
struct PartsBody {
    /// The system prompt.
    #[schema(value_type = Option<f64>)]
    system: Price,
    /// What was said before.
    #[schema(value_type = Option<f64>)]
    history: Price,
    /// What was new.
    #[schema(value_type = Option<f64>)]
    tail: Price,
    /// What the model wrote.
    #[schema(value_type = Option<f64>)]
    answers: Price,
}

impl From<SimulationReport> for SimulationBody {
    fn from(report: SimulationReport) -> Self {
        let SimulationReport { occasion, blueprint, scenario, models, assumptions } = report;
        Self {
            occasion: occasion.map(Into::into),
            blueprint,
            scenario: scenario.map(Into::into),
            models: models.into_iter().map(Into::into).collect(),
            assumptions,
        }
    }
}

impl From<SimulatedOccasion> for OccasionBody {
    fn from(occasion: SimulatedOccasion) -> Self {
        let SimulatedOccasion { user, channel, situation, agent } = occasion;
        Self { user, channel, situation, agent }
    }
}

impl From<SimulatedScenario> for ScenarioBody {
    fn from(scenario: SimulatedScenario) -> Self {
        Self {
            turns: scenario.turns,
            message_tokens: scenario.message_tokens,
            answer_tokens: scenario.answer_tokens,
            tool_rounds: scenario.tool_rounds,
            tool_call_tokens: scenario.tool_call_tokens,
            tool_result_tokens: scenario.tool_result_tokens,
            pause: scenario.pause,
            night_every: scenario.night_every,
            edit_every: scenario.edit_every,
        }
    }
}

impl From<SimulatedModel> for ModelBody {
    fn from(one: SimulatedModel) -> Self {
        let SimulatedCache { finds, minimum_tokens, kept_seconds, kept_seconds_1h } = one.cache;
        Self {
            model: one.model,
            prices: PricesBody { source: one.prices.source, date: one.prices.date },
            counter: one.counter,
            cache: CacheBody { finds, minimum_tokens, kept_seconds, kept_seconds_1h },
            compacted_above_tokens: one.compacted_above_tokens,
            tools_tokens: one.tools_tokens,
            ways: one.ways.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<SimulatedWay> for WayBody {
    fn from(one: SimulatedWay) -> Self {
        let SimulatedTokens { input, written, written_1h, read, output } = one.tokens;
        let Parts { system, history, tail, answers } = one.parts;
        Self {
            way: one.way,
            marks: one.marks,
            system_tokens: one.system_tokens,
            tokens: TokensBody { input, written, written_1h, read, output },
            hit_rate: one.hit_rate,
            cost: one.cost,
            cost_per_turn: one.cost_per_turn,
            ratio: one.ratio,
            parts: PartsBody { system, history, tail, answers },
            calls: one.calls,
            summaries: one.summaries,
            prompts: one.prompts,
            cost_curve: one.cost_curve,
        }
    }
}
