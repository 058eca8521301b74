//! Simulates a conversation turn by turn: the requests, the cache, the cost. Time advances by the pauses only; calls
//! and tools take no time.

use foreword_prompt::prompt::CacheClass;

use super::breakpoint_placement::{self, BreakpointPlacement};
use super::cache::Cache;
use super::chain::{Chain, ChainSegment, Identity};
use super::conversation_cost::ConversationCost;
use super::layout::{ChangeTrigger, Layout, SendStrategy, SizedLayer};
use super::request::{CacheMarker, SimulatedRequest};
use super::rules::CacheModel;
use super::scenario::{BadScenario, Scenario};
use crate::models::ModelFacts;
use crate::money::{Money, Price};
use crate::price::CacheTtl;

/// The size of the text around a note about an edited file, in tokens.
const NOTE: usize = 20;
/// A summary must cover at least this fraction (1/n) of the limit, as in [`crate::compaction`].
const MIN_COVERED_DIVISOR: usize = 10;

/// The provider and model of a simulation.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedProvider<'a> {
    /// Facts about the model.
    pub facts: &'a ModelFacts,
    /// How its cache works.
    pub rules: CacheModel,
    /// The requested time to live of the shared prefix.
    pub ttl: CacheTtl,
}

/// The cost of a conversation, and the breakpoints it was simulated with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// The cost.
    pub costs: ConversationCost,
    /// Where the breakpoints were placed.
    pub marking: BreakpointPlacement,
}

/// Simulates a conversation and returns its cost. If the strategy allows several breakpoint placements, the cheapest is
/// used.
///
/// # Errors
/// If the scenario is invalid, or a request exceeds the model's context window.
pub fn simulate(
    layout: &Layout,
    scenario: &Scenario,
    provider: SimulatedProvider<'_>,
) -> Result<Simulated, BadScenario> {
    scenario.check()?;
    let mut best: Option<Simulated> = None;
    for marking in breakpoint_placement::choices(layout.way, &provider.rules) {
        let costs = Run::new(layout, scenario, provider, *marking).all()?;
        let cost = |costs: &ConversationCost| costs.cost.known();
        if best.as_ref().is_none_or(|best| cost(&costs) < cost(&best.costs)) {
            best = Some(Simulated { costs, marking: *marking });
        }
    }
    Ok(best.unwrap_or_else(|| Simulated {
        costs: ConversationCost::empty(0),
        marking: BreakpointPlacement::Nothing,
    }))
}

struct Run<'a> {
    layout: &'a Layout,
    scenario: &'a Scenario,
    provider: SimulatedProvider<'a>,
    marking: BreakpointPlacement,
    system_marks: Vec<CacheMarker>,
    /// Whether a part of the system prompt is rebuilt for every turn.
    is_made_each_turn: bool,
    cache: Cache,
    head: Chain,
    messages: Chain,
    /// The number and size of the messages in the last request.
    sent: Option<(usize, usize)>,
    /// How often each file was edited.
    edits: Vec<u64>,
    /// The same at the time the system prompt was built.
    folded: Vec<u64>,
    /// The last announced version of each layer.
    announced: Vec<Option<u64>>,
    now: u64,
    turn: usize,
    costs: ConversationCost,
}

impl<'a> Run<'a> {
    fn new(
        layout: &'a Layout,
        scenario: &'a Scenario,
        provider: SimulatedProvider<'a>,
        marking: BreakpointPlacement,
    ) -> Self {
        Self {
            layout,
            scenario,
            provider,
            marking,
            system_marks: breakpoint_placement::system(layout, marking, provider.rules.minimum, provider.ttl),
            is_made_each_turn: layout.way != SendStrategy::FreezeThenAppend
                || layout.system.iter().any(|layer| layer.class == CacheClass::None),
            cache: Cache::new(provider.rules),
            head: Chain::default(),
            messages: Chain::default(),
            sent: None,
            edits: vec![0; layout.files],
            folded: vec![0; layout.files],
            announced: vec![None; layout.announced.len()],
            now: 0,
            turn: 0,
            costs: ConversationCost::empty(scenario.turns),
        }
    }

    fn all(mut self) -> Result<ConversationCost, BadScenario> {
        for turn in 0..self.scenario.turns {
            self.take_turn(turn)?;
        }
        Ok(self.costs)
    }

    fn take_turn(&mut self, turn: usize) -> Result<(), BadScenario> {
        let pause = self.scenario.pauses.before(turn);
        (self.now, self.turn) = (self.now.saturating_add(pause), turn);
        self.costs.turns.push(Price::Known(Money::default()));
        let edited = self.edit();
        self.open(pause);
        let note = edited.filter(|_| self.has_drifted()).map_or(0, |file| self.note(file));
        let news = self.news();
        self.say(self.scenario.message + news + note);
        for _ in 0..self.scenario.tool_rounds {
            self.call(self.scenario.tool_call)?;
            self.say(self.scenario.tool_call);
            self.say(self.scenario.tool_result);
        }
        self.call(self.scenario.answer)?;
        self.say(self.scenario.answer);
        if self.is_too_long() {
            self.sum_up()?;
        }
        Ok(())
    }

    /// The file that is edited before this turn, in rotation.
    fn edit(&mut self) -> Option<usize> {
        let every = self.scenario.edit_every?;
        if self.turn == 0 || !self.turn.is_multiple_of(every) || self.edits.is_empty() {
            return None;
        }
        let file = (self.turn / every - 1) % self.edits.len();
        *self.edits.get_mut(file)? += 1;
        Some(file)
    }

    /// Builds the system prompt: every turn, or once and again when the cache is cold and there are edits to fold in.
    fn open(&mut self, pause: u64) {
        let is_cold = pause > self.warm_seconds() && self.has_drifted();
        if is_cold || self.layout.way != SendStrategy::FreezeThenAppend {
            self.folded.clone_from(&self.edits);
        }
        if is_cold || self.head.is_empty() || self.is_made_each_turn {
            self.make_head();
        }
    }

    /// Whether a file differs from its version in the system prompt.
    fn has_drifted(&self) -> bool {
        self.folded != self.edits
    }

    fn make_head(&mut self) {
        let tools = ChainSegment { identity: Identity(0), tokens: self.layout.tools };
        let tools = (self.layout.tools > 0).then_some(tools);
        let layers = self.layout.system.iter().map(|layer| ChainSegment {
            identity: layer.identity().in_version(self.version(layer)),
            tokens: layer.tokens,
        });
        let head: Chain = tools.into_iter().chain(layers).collect();
        if head != self.head {
            self.costs.prompts += 1;
            self.head = head;
        }
    }

    /// The version of a layer.
    fn version(&self, layer: &SizedLayer) -> u64 {
        match layer.changes {
            ChangeTrigger::Never => 0,
            ChangeTrigger::WithFile(file) => self.folded.get(file).copied().unwrap_or(0),
            ChangeTrigger::EveryMinute => self.now / 60,
            ChangeTrigger::EveryTurn => self.turn as u64,
            ChangeTrigger::WithHistory => step(self.messages.tokens()) as u64,
        }
    }

    /// How long the agent assumes the provider's cache to be warm.
    fn warm_seconds(&self) -> u64 {
        self.provider.facts.cold_after(self.provider.ttl).as_secs()
    }

    fn note(&self, file: usize) -> usize {
        let is_it = |layer: &&SizedLayer| layer.changes == ChangeTrigger::WithFile(file);
        self.layout.system.iter().find(is_it).map_or(0, |layer| layer.tokens + NOTE)
    }

    /// The size of the changed layers that the next message announces, in tokens.
    fn news(&mut self) -> usize {
        let versions: Vec<Option<u64>> =
            self.layout.announced.iter().map(|layer| Some(self.version(layer))).collect();
        let is_new = self.announced.iter().zip(&versions).map(|(announced, now)| announced != now);
        let news = self.layout.announced.iter().zip(is_new).filter(|(_, is_new)| *is_new);
        let tokens = news.map(|(layer, _)| layer.tokens).sum();
        self.announced = versions;
        tokens
    }

    /// Appends a message. All messages are different.
    fn say(&mut self, tokens: usize) {
        let identity = Identity(1).in_version(self.costs.calls as u64).in_version(self.messages.len() as u64);
        self.messages.push(ChainSegment { identity, tokens });
    }

    fn call(&mut self, output: usize) -> Result<(), BadScenario> {
        let head = self.head.len();
        let (end, before) = (head + self.messages.len(), self.sent.map(|(messages, _)| head + messages));
        let marks = breakpoint_placement::whole(&self.system_marks, self.marking, end, before);
        let request = SimulatedRequest::new(&self.head, &self.messages, &marks)?;
        let tokens = request.tokens();
        if let Some(window) = self.provider.facts.context_window.filter(|window| tokens > *window) {
            return Err(BadScenario::Overflow { turn: self.turn + 1, tokens, window });
        }
        let charged = self.cache.send(self.now, &request);
        let system = self.head.tokens();
        let before = system + self.sent.map_or(0, |(_, tokens)| tokens);
        self.costs.add(self.provider.facts, &charged, system, before, output);
        self.sent = Some((self.messages.len(), self.messages.tokens()));
        Ok(())
    }

    fn is_too_long(&self) -> bool {
        let weight = self.head.tokens() + self.messages.tokens();
        // The existing summary is not summarised again.
        let summary = if self.costs.summaries == 0 { 0 } else { self.messages.prefix(1).tokens };
        let coverable = self.messages.tokens() - summary;
        self.scenario
            .compact_above
            .is_some_and(|most| weight > most && coverable >= (most / MIN_COVERED_DIVISOR).max(1))
    }

    /// Summarises the conversation with the current prompt and continues with the summary only.
    fn sum_up(&mut self) -> Result<(), BadScenario> {
        self.say(self.scenario.summary_asked);
        self.call(self.scenario.summary)?;
        self.costs.summaries += 1;
        self.messages = Chain::default();
        self.sent = None;
        self.say(self.scenario.summary);
        // The turn context is sent in full again, and edits are part of the new epoch.
        self.announced.fill(None);
        self.folded.clone_from(&self.edits);
        if self.layout.way == SendStrategy::FreezeThenAppend {
            self.make_head();
        }
        Ok(())
    }
}

/// The steps in which the memory menu reports the remaining room, as in the workspace.
fn step(tokens: usize) -> usize {
    const SMALL: [usize; 6] = [0, 1_000, 2_000, 5_000, 10_000, 20_000];
    const LARGE: usize = 20_000;
    SMALL.into_iter().find(|step| tokens <= *step).unwrap_or_else(|| tokens.div_ceil(LARGE) * LARGE)
}

#[cfg(test)]
mod tests;
