//! The JSON of a simulation, the same as `foreword simulate` writes.

use foreword_agent::reports::simulation::{
    SimulatedCache, SimulatedModel, SimulatedOccasion, SimulatedScenario, SimulatedStrategy, SimulatedTokens,
    SimulationReport,
};
use foreword_core::money::Price;
use foreword_core::simulate::{BreakpointPlacement, CostParts, SendStrategy};
use serde::Serialize;
use utoipa::ToSchema;

/// The costs of a conversation by model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Simulation)]
pub(crate) struct SimulationBody {
    /// The occasion.
    occasion: Option<OccasionBody>,
    /// The blueprint of the prompt.
    blueprint: Option<String>,
    /// The simulated conversation.
    scenario: Option<ScenarioBody>,
    /// The costs by model.
    models: Vec<ModelBody>,
    /// The assumptions of the estimate.
    assumptions: Vec<String>,
}

/// The occasion of a simulation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedOccasion)]
pub(crate) struct OccasionBody {
    /// The user.
    user: Option<String>,
    /// The channel.
    channel: Option<String>,
    /// The situation.
    situation: String,
    /// The agent.
    agent: String,
}

/// The simulated conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedScenario)]
pub(crate) struct ScenarioBody {
    /// Number of user messages.
    turns: usize,
    /// Tokens per message.
    message_tokens: usize,
    /// Tokens per answer.
    answer_tokens: usize,
    /// Tool calls per turn.
    tool_rounds: usize,
    /// Tokens per tool call.
    tool_call_tokens: usize,
    /// Tokens per tool result.
    tool_result_tokens: usize,
    /// The pause between two turns.
    #[schema(example = "90s")]
    pause: String,
    /// A night's pause after this number of turns.
    night_every: Option<u32>,
    /// An edited file after this number of turns.
    edit_every: Option<u32>,
}

/// The costs with one model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedModel)]
pub(crate) struct ModelBody {
    /// The model.
    model: String,
    /// The source of its prices.
    prices: PricesBody,
    /// The name of the token counter.
    counter: String,
    /// How its provider caches.
    cache: CacheBody,
    /// The number of tokens above which the conversation is compacted.
    compacted_above_tokens: Option<usize>,
    /// Tokens of the tool definitions.
    tools_tokens: usize,
    /// The costs by strategy; the first is the reference.
    strategies: Vec<StrategyBody>,
}

/// The source of prices.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedPrices)]
pub(crate) struct PricesBody {
    /// The source.
    source: Option<String>,
    /// The date of the prices.
    date: Option<String>,
}

/// How a provider caches.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedCache)]
pub(crate) struct CacheBody {
    /// What it matches: `at_marks`, `at_marks_and_the_end`, `at_the_end`, `longest_prefix` or `nothing`.
    #[schema(example = "at_marks")]
    lookup: &'static str,
    /// The minimum number of tokens.
    minimum_tokens: usize,
    /// The TTL in seconds after the last use.
    ttl_seconds: u64,
    /// The TTL in seconds when an hour is requested.
    ttl_seconds_1h: u64,
}

/// The cost of one strategy of sending a conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedStrategy)]
pub(crate) struct StrategyBody {
    /// `freeze_then_append`, `rebuild_each_turn` or `inject_everything`.
    #[schema(value_type = String, example = "freeze_then_append")]
    strategy: SendStrategy,
    /// Where breakpoints were set: `nothing`, `stable_system`, `system` or `system_and_conversation`.
    #[schema(value_type = String, example = "system_and_conversation")]
    breakpoints: BreakpointPlacement,
    /// Tokens of the system prompt.
    system_tokens: usize,
    /// The total token usage.
    tokens: TokensBody,
    /// The cached share of input tokens, from 0 to 1.
    hit_rate: f64,
    /// Cost in US dollars; `null` if a price is unknown.
    #[schema(value_type = Option<f64>)]
    cost: Price,
    /// Average cost of a turn in US dollars.
    #[schema(value_type = Option<f64>)]
    cost_per_turn: Price,
    /// The cost relative to the first strategy.
    ratio: Option<f64>,
    /// The parts of the cost.
    parts: PartsBody,
    /// Number of calls.
    calls: usize,
    /// Number of compactions.
    summaries: usize,
    /// Number of system prompts.
    prompts: usize,
    /// The cost of consecutive groups of turns in US dollars.
    cost_curve: Vec<f64>,
}

/// The token usage of a conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedTokens)]
pub(crate) struct TokensBody {
    /// Input tokens not read from a cache.
    input: u64,
    /// Tokens written to the cache.
    written: u64,
    /// Those of them written for an hour.
    written_1h: u64,
    /// Tokens read from the cache.
    read: u64,
    /// Output tokens.
    output: u64,
}

/// The parts of the cost, in US dollars.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SimulatedParts)]
pub(crate) struct PartsBody {
    /// The system prompt.
    #[schema(value_type = Option<f64>)]
    system: Price,
    /// The history.
    #[schema(value_type = Option<f64>)]
    history: Price,
    /// The new messages.
    #[schema(value_type = Option<f64>)]
    tail: Price,
    /// The output.
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
        let SimulatedCache { lookup, minimum_tokens, ttl_seconds, ttl_seconds_1h } = one.cache;
        Self {
            model: one.model,
            prices: PricesBody { source: one.prices.source, date: one.prices.date },
            counter: one.counter,
            cache: CacheBody { lookup, minimum_tokens, ttl_seconds, ttl_seconds_1h },
            compacted_above_tokens: one.compacted_above_tokens,
            tools_tokens: one.tools_tokens,
            strategies: one.strategies.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<SimulatedStrategy> for StrategyBody {
    fn from(one: SimulatedStrategy) -> Self {
        let SimulatedTokens { input, written, written_1h, read, output } = one.tokens;
        let CostParts { system, history, tail, answers } = one.parts;
        Self {
            strategy: one.strategy,
            breakpoints: one.breakpoints,
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
