//! A conversation from its first turn to its last: what each request holds, what the cache makes of it, what it costs. Time is
//! what the pauses say; a call and its tools take none.

use foreword_prompt::prompt::CacheClass;

use super::bill::Bill;
use super::cache::Cache;
use super::chain::{Chain, Identity, Segment};
use super::layout::{Changes, Layout, SizedLayer, Way};
use super::marking::{self, Marking};
use super::request::{Mark, Request};
use super::rules::CacheRules;
use super::scenario::{BadScenario, Scenario};
use crate::models::ModelFacts;
use crate::money::{Money, Price};
use crate::price::CacheTtl;

/// What the words around a note about an edited file weigh, in tokens.
const NOTE: usize = 20;
/// A summary must be worth the call, as in [`crate::compaction`]: what it stands for is at least this part of what is allowed.
const WORTH_IT: usize = 10;

/// Who answers.
#[derive(Debug, Clone, Copy)]
pub struct Provider<'a> {
    /// What is known about the model.
    pub facts: &'a ModelFacts,
    /// How its cache works.
    pub rules: CacheRules,
    /// For how long it is asked to keep what all conversations share.
    pub ttl: CacheTtl,
}

/// A conversation's bill, and the marks it was had with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// The bill.
    pub bill: Bill,
    /// What was marked.
    pub marking: Marking,
}

/// Has a whole conversation, and says what it cost. Where a way of sending it leaves the marks open, the cheapest are taken.
///
/// # Errors
/// If it can't be simulated, or a request is larger than the model takes.
pub fn simulate(
    layout: &Layout,
    scenario: &Scenario,
    provider: Provider<'_>,
) -> Result<Simulated, BadScenario> {
    scenario.check()?;
    let mut best: Option<Simulated> = None;
    for marking in marking::choices(layout.way, &provider.rules) {
        let bill = Run::new(layout, scenario, provider, *marking).all()?;
        let cost = |bill: &Bill| bill.cost.known();
        if best.as_ref().is_none_or(|best| cost(&bill) < cost(&best.bill)) {
            best = Some(Simulated { bill, marking: *marking });
        }
    }
    Ok(best.unwrap_or_else(|| Simulated { bill: Bill::empty(0), marking: Marking::Nothing }))
}

struct Run<'a> {
    layout: &'a Layout,
    scenario: &'a Scenario,
    provider: Provider<'a>,
    marking: Marking,
    system_marks: Vec<Mark>,
    /// Whether something in the system prompt is made anew for every turn.
    is_made_each_turn: bool,
    cache: Cache,
    head: Chain,
    messages: Chain,
    /// How many messages the last request had, and what they weighed.
    sent: Option<(usize, usize)>,
    /// How often each file was edited.
    edits: Vec<u64>,
    /// How often each had been when the system prompt was made.
    folded: Vec<u64>,
    /// What was told of each layer last, as its version.
    told: Vec<Option<u64>>,
    now: u64,
    turn: usize,
    bill: Bill,
}

impl<'a> Run<'a> {
    fn new(layout: &'a Layout, scenario: &'a Scenario, provider: Provider<'a>, marking: Marking) -> Self {
        let limits = (provider.rules.minimum, provider.ttl);
        Self {
            layout,
            scenario,
            provider,
            marking,
            system_marks: marking::system(layout, marking, limits),
            is_made_each_turn: layout.way != Way::FreezeThenAppend
                || layout.system.iter().any(|layer| layer.class == CacheClass::None),
            cache: Cache::new(provider.rules),
            head: Chain::default(),
            messages: Chain::default(),
            sent: None,
            edits: vec![0; layout.files],
            folded: vec![0; layout.files],
            told: vec![None; layout.told.len()],
            now: 0,
            turn: 0,
            bill: Bill::empty(scenario.turns),
        }
    }

    fn all(mut self) -> Result<Bill, BadScenario> {
        for turn in 0..self.scenario.turns {
            self.take_turn(turn)?;
        }
        Ok(self.bill)
    }

    fn take_turn(&mut self, turn: usize) -> Result<(), BadScenario> {
        let pause = self.scenario.pauses.before(turn);
        (self.now, self.turn) = (self.now.saturating_add(pause), turn);
        self.bill.turns.push(Price::Known(Money::default()));
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

    /// The file that was edited before this turn, one after the other.
    fn edit(&mut self) -> Option<usize> {
        let every = self.scenario.edit_every?;
        if self.turn == 0 || !self.turn.is_multiple_of(every) || self.edits.is_empty() {
            return None;
        }
        let file = (self.turn / every - 1) % self.edits.len();
        *self.edits.get_mut(file)? += 1;
        Some(file)
    }

    /// Makes the system prompt: each turn, or once, and again when the provider has forgotten it and there is something to
    /// fold in.
    fn open(&mut self, pause: u64) {
        let is_cold = pause > self.kept() && self.has_drifted();
        if is_cold || self.layout.way != Way::FreezeThenAppend {
            self.folded.clone_from(&self.edits);
        }
        if is_cold || self.head.is_empty() || self.is_made_each_turn {
            self.make_head();
        }
    }

    /// Whether a file reads otherwise than the system prompt says.
    fn has_drifted(&self) -> bool {
        self.folded != self.edits
    }

    fn make_head(&mut self) {
        let tools = Segment { identity: Identity(0), tokens: self.layout.tools };
        let tools = (self.layout.tools > 0).then_some(tools);
        let layers = self.layout.system.iter().map(|layer| Segment {
            identity: layer.identity().in_version(self.version(layer)),
            tokens: layer.tokens,
        });
        let head: Chain = tools.into_iter().chain(layers).collect();
        if head != self.head {
            self.bill.prompts += 1;
            self.head = head;
        }
    }

    /// Tells the versions of a layer apart.
    fn version(&self, layer: &SizedLayer) -> u64 {
        match layer.changes {
            Changes::Never => 0,
            Changes::WithFile(file) => self.folded.get(file).copied().unwrap_or(0),
            Changes::EveryMinute => self.now / 60,
            Changes::EveryTurn => self.turn as u64,
            Changes::WithHistory => step(self.messages.tokens()) as u64,
        }
    }

    /// For how long the agent takes the provider's cache to be warm, as its turns do.
    fn kept(&self) -> u64 {
        self.provider.facts.cold_after(self.provider.ttl).as_secs()
    }

    fn note(&self, file: usize) -> usize {
        let is_it = |layer: &&SizedLayer| layer.changes == Changes::WithFile(file);
        self.layout.system.iter().find(is_it).map_or(0, |layer| layer.tokens + NOTE)
    }

    /// What is told with the next message because it is new, in tokens.
    fn news(&mut self) -> usize {
        let versions: Vec<Option<u64>> =
            self.layout.told.iter().map(|layer| Some(self.version(layer))).collect();
        let is_new = self.told.iter().zip(&versions).map(|(told, now)| told != now);
        let news = self.layout.told.iter().zip(is_new).filter(|(_, is_new)| *is_new);
        let tokens = news.map(|(layer, _)| layer.tokens).sum();
        self.told = versions;
        tokens
    }

    /// Adds something to the conversation. No two messages are the same.
    fn say(&mut self, tokens: usize) {
        let identity = Identity(1).in_version(self.bill.calls as u64).in_version(self.messages.len() as u64);
        self.messages.push(Segment { identity, tokens });
    }

    fn call(&mut self, output: usize) -> Result<(), BadScenario> {
        let head = self.head.len();
        let ends = (head + self.messages.len(), self.sent.map(|(messages, _)| head + messages));
        let marks = marking::whole(&self.system_marks, self.marking, ends);
        let request = Request::new(&self.head, &self.messages, &marks)?;
        let tokens = request.tokens();
        if let Some(window) = self.provider.facts.context_window.filter(|window| tokens > *window) {
            return Err(BadScenario::Overflow { turn: self.turn + 1, tokens, window });
        }
        let charged = self.cache.send(self.now, &request);
        let system = self.head.tokens();
        let before = system + self.sent.map_or(0, |(_, tokens)| tokens);
        self.bill.add(self.provider.facts, &charged, (system, before), output);
        self.sent = Some((self.messages.len(), self.messages.tokens()));
        Ok(())
    }

    fn is_too_long(&self) -> bool {
        let weight = self.head.tokens() + self.messages.tokens();
        // The summary there is already is not summed up again.
        let summary = if self.bill.summaries == 0 { 0 } else { self.messages.prefix(1).tokens };
        let coverable = self.messages.tokens() - summary;
        self.scenario.compact_above.is_some_and(|most| weight > most && coverable >= (most / WORTH_IT).max(1))
    }

    /// Has the conversation summed up on the prompt it was had on, and goes on from the summary alone.
    fn sum_up(&mut self) -> Result<(), BadScenario> {
        self.say(self.scenario.summary_asked);
        self.call(self.scenario.summary)?;
        self.bill.summaries += 1;
        self.messages = Chain::default();
        self.sent = None;
        self.say(self.scenario.summary);
        // The turn's context is told whole again, and edits stand in the new epoch.
        self.told.fill(None);
        self.folded.clone_from(&self.edits);
        if self.layout.way == Way::FreezeThenAppend {
            self.make_head();
        }
        Ok(())
    }
}

/// The steps in which the memory menu tells how much room is left, as the workspace counts them.
fn step(tokens: usize) -> usize {
    const SMALL: [usize; 6] = [0, 1_000, 2_000, 5_000, 10_000, 20_000];
    const LARGE: usize = 20_000;
    SMALL.into_iter().find(|step| tokens <= *step).unwrap_or_else(|| tokens.div_ceil(LARGE) * LARGE)
}

#[cfg(test)]
mod tests;
