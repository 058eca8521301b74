//! The bill of a conversation before it is had, for three ways to send the words of a workspace: for the command line and HTTP
//! alike. Measures the workspace; the rules by which providers cache are in `foreword-core`.

mod assumptions;
mod choosing;
mod measuring;
mod report;

use std::sync::Arc;

use foreword_core::compaction::Moment;
use foreword_core::models::ModelFacts;
use foreword_core::money::{Money, Price};
use foreword_core::price::CacheTtl;
use foreword_core::simulate::{
    BadScenario, Bill, CacheRules, Pauses, Provider, Scenario, Simulated, Way, simulate,
};
use foreword_prompt::blueprint::builtin;
use foreword_workspace::build::Built;
use foreword_workspace::config::Config;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

use self::measuring::Sizes;
use crate::agent::Agent;
use crate::error::AgentError;
use crate::prepare::stored_texts;

pub(crate) use measuring::{tools_bytes, tools_tokens};
pub use report::{
    SimulatedCache, SimulatedModel, SimulatedOccasion, SimulatedPrices, SimulatedScenario, SimulatedTokens,
    SimulatedWay, SimulationReport,
};

/// The most points of a curve.
const POINTS: usize = 50;

/// What is to be simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// How many messages somebody writes.
    pub turns: usize,
    /// What each weighs, in tokens.
    pub message_tokens: usize,
    /// What each answer weighs.
    pub answer_tokens: usize,
    /// How often the model calls a tool before it answers. Default: once, if it has tools.
    pub tool_rounds: Option<usize>,
    /// What the result of a tool weighs.
    pub tool_tokens: usize,
    /// The time between two turns.
    pub pause: Pauses,
    /// The same in the words it was said in.
    pub pause_text: String,
    /// A night before every so many turns.
    pub night_every: Option<u32>,
    /// An edited file before every so many turns.
    pub edit_every: Option<u32>,
    /// How long the provider is asked to keep what all conversations share. Default: as configured.
    pub ttl: Option<CacheTtl>,
    /// How long a cache that decides by itself keeps what nobody uses, in seconds.
    pub idle: Option<u64>,
    /// The models. Default: the agent's, else one of each kind.
    pub models: Vec<String>,
}

impl Wish {
    /// A hundred turns, so far apart.
    ///
    /// ```
    /// use foreword_agent::simulation::Wish;
    /// assert_eq!(Wish::paused("90s").unwrap().turns, 100);
    /// assert!(Wish::paused("soon").is_err());
    /// ```
    ///
    /// # Errors
    /// If that is no pause.
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

/// Why there is no bill.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoBill {
    /// The prompt can't be made.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Nobody knows what a model costs.
    #[error("the prices of `{name}` are not known, so its bill can't be worked out")]
    NoPrice {
        /// Which.
        name: String,
        /// One that is called nearly the same.
        near: Option<String>,
    },
    /// Such a conversation can't be had.
    #[error("{error}")]
    Scenario {
        /// Why.
        error: BadScenario,
        /// How it was sent.
        way: Way,
        /// With which model.
        model: String,
    },
}

/// The bills of one conversation, with each model.
#[derive(Debug)]
pub struct Simulation {
    /// What was asked for.
    pub wish: Wish,
    /// The bills.
    pub bills: Vec<Compared>,
    /// What they rest on that nobody measured, in sentences.
    pub assumed: Vec<String>,
}

/// The bills of one conversation with one model, for each way to send it.
#[derive(Debug)]
pub struct Compared {
    /// The model.
    pub facts: ModelFacts,
    /// How its provider caches.
    pub rules: CacheRules,
    /// The conversation.
    pub scenario: Scenario,
    /// The prompt it is had on.
    pub built: Arc<Built>,
    /// Each way, what its system prompt weighs, and its bill.
    pub ways: Vec<(Way, usize, Simulated)>,
    sizes: Sizes,
    /// How many layers come from files that can be edited.
    files: usize,
}

impl Simulation {
    /// Simulates what `wish` says on the prompt of `request`. Takes as long as there are turns: not for a thread that others
    /// wait for.
    ///
    /// # Errors
    /// If the prompt can't be made, a price is not known, or the model takes no such conversation.
    pub fn run(workspace: &Workspace, request: &Request, wish: Wish) -> Result<Self, NoBill> {
        let config = workspace.snapshot().of_agent(request.agent.as_deref())?.config.clone();
        let chosen = choosing::models(&wish.models, &config)?;
        let mut bills = Vec::new();
        for facts in &chosen.models {
            bills.push(Compared::of(&wish, workspace, (request, &config), facts)?);
        }
        let assumed = chosen.why.into_iter().chain(assumptions::lines(&wish, &bills)).collect();
        Ok(Self { wish, bills, assumed })
    }
}

impl Compared {
    fn of(
        wish: &Wish,
        workspace: &Workspace,
        (request, config): (&Request, &Config),
        facts: &ModelFacts,
    ) -> Result<Self, NoBill> {
        let request = Request { model: Some(facts.id.as_str().into()), ..request.clone() };
        let built = workspace.build(&request)?;
        let sizes = measuring::measure(workspace, &request, &built)?;
        let scenario = scenario(wish, config, (facts, &sizes));
        let rules = CacheRules::of(facts, wish.idle);
        let ttl = wish.ttl.unwrap_or(config.cache_ttl);
        let measured = sizes.measured(&built);
        let (mut ways, mut files) = (Vec::new(), 0);
        for way in Way::ALL {
            let layout = measured.layout(way);
            let simulated = simulate(&layout, &scenario, Provider { facts, rules, ttl })
                .map_err(|error| NoBill::Scenario { error, way, model: facts.id.to_string() })?;
            files = layout.files;
            ways.push((way, layout.head_tokens(), simulated));
        }
        Ok(Self { facts: facts.clone(), rules, scenario, built, ways, sizes, files })
    }

    /// What the others are compared with.
    #[must_use]
    pub fn frozen(&self) -> Option<&Simulated> {
        self.ways.first().map(|(_, _, simulated)| simulated)
    }

    /// What the turns cost in dollars, in stretches; nothing if it is not known.
    #[must_use]
    pub fn curve(simulated: &Simulated) -> Vec<f64> {
        let costs: Option<Vec<f64>> =
            simulated.bill.turns.iter().map(|cost| Some(cost.known()?.dollars())).collect();
        in_stretches(&costs.unwrap_or_default())
    }

    /// What a turn costs on average.
    #[must_use]
    pub fn per_turn(bill: &Bill) -> Price {
        let turns = bill.turns.len().max(1) as u64;
        bill.cost.known().map(|cost| Money::from_picodollars(cost.picodollars() / turns)).into()
    }
}

/// The means of `values` in at most [`POINTS`] stretches of the same length.
fn in_stretches(values: &[f64]) -> Vec<f64> {
    let length = values.len().div_ceil(POINTS).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a stretch is far shorter than 2^53")]
    let mean = |stretch: &[f64]| stretch.iter().sum::<f64>() / stretch.len() as f64;
    values.chunks(length).map(mean).collect()
}

fn scenario(wish: &Wish, config: &Config, (facts, sizes): (&ModelFacts, &Sizes)) -> Scenario {
    let times = |every: Option<u32>| every.and_then(|every| usize::try_from(every).ok());
    let asked = builtin::text("compaction").unwrap_or_default();
    Scenario {
        turns: wish.turns,
        message: wish.message_tokens,
        answer: wish.answer_tokens,
        tool_rounds: wish.tool_rounds.unwrap_or(usize::from(sizes.tools > 0)),
        tool_result: wish.tool_tokens,
        pauses: wish.pause.clone().with_a_night_every(times(wish.night_every)),
        edit_every: times(wish.edit_every),
        compact_above: config.compaction.limit(Moment::TurnEnded, facts.context_window),
        summary_asked: facts.tokenizer.get().count(asked),
        ..Scenario::default()
    }
}

impl Agent {
    /// Simulates what `wish` says on the prompt of `request` with the texts that are stored, on a thread of its own.
    ///
    /// # Errors
    /// If there is no such agent, or what is stored can't be read; within, if there is no bill.
    pub async fn simulate(
        &self,
        request: Request,
        wish: Wish,
    ) -> Result<Result<Simulation, NoBill>, AgentError> {
        let shared = self.shared();
        let view = shared.workspace.snapshot().of_agent(request.agent.as_deref())?;
        let request = Request { stored: stored_texts(shared, &view.config).await?, ..request };
        let (alone, workspace) = (shared.weighing().await?, Arc::clone(&shared.workspace));
        let working = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            Simulation::run(&workspace, &request, wish)
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
