//! Estimates a conversation's cost for three strategies of sending a workspace's text, for the command line and HTTP.
//! Measures the workspace; the caching rules of providers are in `foreword-core`.

mod assumptions;
mod measure;
mod report;
mod scenario;

use std::sync::Arc;

use foreword_core::compaction::CompactionTrigger;
use foreword_core::models::ModelFacts;
use foreword_core::money::{Money, Price};
use foreword_core::price::CacheTtl;
use foreword_core::simulate::{
    BadScenario, CacheModel, ConversationCost, Pauses, Scenario, SendStrategy, Simulated, SimulatedProvider,
    simulate,
};
use foreword_prompt::blueprint::builtin;
use foreword_workspace::build::Built;
use foreword_workspace::config::Config;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use foreword_workspace::workspace::Workspace;

use self::measure::Sizes;
use crate::agent::Agent;
use crate::error::AgentError;
use crate::turn::prepare::stored_texts;

pub(crate) use measure::{tools_bytes, tools_tokens};
pub use report::{
    SimulatedCache, SimulatedModel, SimulatedOccasion, SimulatedPrices, SimulatedScenario, SimulatedStrategy,
    SimulatedTokens, SimulationReport,
};

/// The maximum number of points in a curve.
const MAX_CURVE_POINTS: usize = 50;

/// The parameters of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationParams {
    /// The number of user messages.
    pub turns: usize,
    /// The tokens of each message.
    pub message_tokens: usize,
    /// The tokens of each answer.
    pub answer_tokens: usize,
    /// The number of tool calls per turn. Default: one, if the agent has tools.
    pub tool_rounds: Option<usize>,
    /// The tokens of a tool result.
    pub tool_tokens: usize,
    /// The time between two turns.
    pub pause: Pauses,
    /// The same as text, as given.
    pub pause_text: String,
    /// A night before every this many turns.
    pub night_every: Option<u32>,
    /// An edited file before every this many turns.
    pub edit_every: Option<u32>,
    /// The cache lifetime requested for text that all conversations share. Default: as configured.
    pub ttl: Option<CacheTtl>,
    /// How long an automatic cache retains an unused prefix, in seconds.
    pub idle: Option<u64>,
    /// The models. Default: the agent's, otherwise one per provider family.
    pub models: Vec<String>,
}

impl SimulationParams {
    /// A hundred turns with this pause.
    ///
    /// ```
    /// use foreword_agent::reports::simulation::SimulationParams;
    /// assert_eq!(SimulationParams::paused("90s").unwrap().turns, 100);
    /// assert!(SimulationParams::paused("soon").is_err());
    /// ```
    ///
    /// # Errors
    /// If the text is not a valid pause.
    pub fn paused(pause: &str) -> Result<Self, <Pauses as std::str::FromStr>::Err> {
        Ok(Self {
            turns: 100,
            message_tokens: 80,
            answer_tokens: 250,
            tool_rounds: None,
            tool_tokens: 400,
            pause: pause.parse()?,
            pause_text: pause.to_owned(),
            night_every: None,
            edit_every: None,
            ttl: None,
            idle: None,
            models: Vec::new(),
        })
    }
}

/// Why the cost cannot be estimated.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SimulationError {
    /// The prompt cannot be built.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A model's price is unknown.
    #[error("no prices are known for `{name}`, so its cost can't be estimated")]
    NoPrice {
        /// The model.
        name: String,
        /// A similar name.
        near: Option<String>,
    },
    /// The scenario is impossible.
    #[error("{error}")]
    Scenario {
        /// The reason.
        error: BadScenario,
        /// How it was sent.
        strategy: SendStrategy,
        /// With which model.
        model: String,
    },
}

/// The estimated costs of one conversation, with each model.
#[derive(Debug)]
pub struct Simulation {
    /// The parameters.
    pub params: SimulationParams,
    /// The estimates.
    pub comparisons: Vec<Compared>,
    /// The assumptions, as sentences.
    pub assumed: Vec<String>,
}

/// The estimated costs of one conversation with one model, for each strategy.
#[derive(Debug)]
pub struct Compared {
    pub facts: ModelFacts,
    /// How its provider caches.
    pub rules: CacheModel,
    /// The conversation.
    pub scenario: Scenario,
    /// The prompt.
    pub built: Arc<Built>,
    /// Each strategy with the tokens of its system prompt and its cost.
    pub strategies: Vec<(SendStrategy, usize, Simulated)>,
    sizes: Sizes,
    /// How many layers come from editable files.
    files: usize,
}

impl Simulation {
    /// Simulates `params` with the prompt of `request`. Blocking; the time is proportional to the number of turns.
    ///
    /// # Errors
    /// If the prompt cannot be built, a price is unknown, or the scenario is impossible for the model.
    pub fn run(
        workspace: &Workspace,
        request: &Request,
        params: SimulationParams,
    ) -> Result<Self, SimulationError> {
        let config = workspace.snapshot().of_agent(request.speaker.agent.as_deref())?.config.clone();
        let chosen = scenario::models(&params.models, &config)?;
        let mut comparisons = Vec::new();
        for facts in &chosen.models {
            comparisons.push(Compared::of(&params, workspace, request, &config, facts)?);
        }
        let assumed = chosen.why.into_iter().chain(assumptions::lines(&params, &comparisons)).collect();
        Ok(Self { params, comparisons, assumed })
    }
}

impl Compared {
    fn of(
        params: &SimulationParams,
        workspace: &Workspace,
        request: &Request,
        config: &Config,
        facts: &ModelFacts,
    ) -> Result<Self, SimulationError> {
        let request = Request {
            speaker: Speaker { model: Some(facts.id.as_str().into()), ..request.speaker.clone() },
            ..request.clone()
        };
        let built = workspace.build(&request)?;
        let sizes = measure::measure(workspace, &request, &built)?;
        let scenario = scenario(params, config, facts, &sizes);
        let rules = CacheModel::of(facts, params.idle);
        let ttl = params.ttl.unwrap_or(config.cache_ttl);
        let measured = sizes.measured(&built);
        let (mut strategies, mut files) = (Vec::new(), 0);
        for strategy in SendStrategy::ALL {
            let layout = measured.layout(strategy);
            let simulated =
                simulate(&layout, &scenario, SimulatedProvider { facts, rules, ttl }).map_err(|error| {
                    SimulationError::Scenario { error, strategy, model: facts.id.to_string() }
                })?;
            files = layout.files;
            strategies.push((strategy, layout.head_tokens(), simulated));
        }
        Ok(Self { facts: facts.clone(), rules, scenario, built, strategies, sizes, files })
    }

    /// The estimate that the others are compared with.
    #[must_use]
    pub fn frozen(&self) -> Option<&Simulated> {
        self.strategies.first().map(|(_, _, simulated)| simulated)
    }

    /// The cost of the turns in dollars, averaged in sections; empty if it is unknown.
    #[must_use]
    pub fn curve(simulated: &Simulated) -> Vec<f64> {
        let costs: Option<Vec<f64>> =
            simulated.costs.turns.iter().map(|cost| Some(cost.known()?.dollars())).collect();
        in_stretches(&costs.unwrap_or_default())
    }

    /// The average cost of a turn.
    #[must_use]
    pub fn per_turn(costs: &ConversationCost) -> Price {
        let turns = costs.turns.len().max(1) as u64;
        costs.cost.known().map(|cost| Money::from_picodollars(cost.picodollars() / turns)).into()
    }
}

/// The means of `values` in at most [`MAX_CURVE_POINTS`] sections of equal length.
fn in_stretches(values: &[f64]) -> Vec<f64> {
    let length = values.len().div_ceil(MAX_CURVE_POINTS).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a stretch is far shorter than 2^53")]
    let mean = |stretch: &[f64]| stretch.iter().sum::<f64>() / stretch.len() as f64;
    values.chunks(length).map(mean).collect()
}

fn scenario(params: &SimulationParams, config: &Config, facts: &ModelFacts, sizes: &Sizes) -> Scenario {
    let times = |every: Option<u32>| every.and_then(|every| usize::try_from(every).ok());
    let asked = builtin::text("compaction").unwrap_or_default();
    Scenario {
        turns: params.turns,
        message: params.message_tokens,
        answer: params.answer_tokens,
        tool_rounds: params.tool_rounds.unwrap_or(usize::from(sizes.tools > 0)),
        tool_result: params.tool_tokens,
        pauses: params.pause.clone().with_a_night_every(times(params.night_every)),
        edit_every: times(params.edit_every),
        compact_above: config.compaction.limit(CompactionTrigger::TurnEnded, facts.context_window),
        summary_asked: facts.tokenizer.get().count(asked),
        ..Scenario::default()
    }
}

impl Agent {
    /// Simulates `params` with the prompt of `request` and the stored texts, on a blocking thread.
    ///
    /// # Errors
    /// If the agent does not exist, or the stored texts cannot be read; the inner error if the cost cannot be
    /// estimated.
    pub async fn simulate(
        &self,
        request: Request,
        params: SimulationParams,
    ) -> Result<Result<Simulation, SimulationError>, AgentError> {
        let shared = self.shared();
        let view = shared.workspace.snapshot().of_agent(request.speaker.agent.as_deref())?;
        let request = Request { stored: stored_texts(shared, &view.config).await?, ..request };
        let (alone, workspace) = (shared.acquire_estimate_permit().await?, Arc::clone(&shared.workspace));
        let working = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            Simulation::run(&workspace, &request, params)
        });
        working.await.map_err(|_| AgentError::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_numbers_become_the_means_of_stretches() {
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        let few = in_stretches(&many);
        assert_eq!((few.len(), few[0], few[49]), (50, 0.5, 98.5));
        assert_eq!(in_stretches(&[1.0, 3.0]), [1.0, 3.0]);
        assert!(in_stretches(&[]).is_empty());
    }
}
