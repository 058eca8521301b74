//! `foreword simulate` over 10,000 turns, compared with a loop that prices as many calls without a cache: the cost of
//! simulating the cache.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use foreword_core::message::Usage;
use foreword_core::models::{ModelCatalog, ModelFacts};
use foreword_core::money::{Money, Price};
use foreword_core::price::cost_of;
use foreword_core::simulate::{
    CacheModel, ChangeTrigger, ConversationCost, Layout, Pauses, Scenario, SendStrategy, SimulatedProvider,
    SizedLayer, simulate,
};
use foreword_prompt::prompt::CacheClass;

use crate::Outcome;
use crate::table::Table;
use crate::timing::Comparison;

const TURNS: usize = 10_000;
const ROUNDS: usize = 11;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Simulating 10,000 turns", "pricing as many calls, without a cache");
    let catalog = ModelCatalog::builtin();
    for model in ["anthropic/claude-haiku-4-5", "openai/gpt-5.6", "openai/gpt-4o"] {
        let facts = catalog.find(model).ok_or("a model of the table is gone")?;
        table.note(model);
        for way in SendStrategy::ALL {
            let layout = layout(way);
            let mut rounds = Vec::new();
            let mut calls = 0;
            for _ in 0..ROUNDS {
                let start = Instant::now();
                calls = black_box(costs(&layout, facts)?).calls;
                let simulated = start.elapsed();
                let start = Instant::now();
                black_box(priced(facts, calls));
                rounds.push((simulated, start.elapsed()));
            }
            let what = format!("  {}: {calls} calls", way.title());
            table.compare(&what, &Comparison::of(&rounds), None);
        }
    }
    Ok(())
}

fn costs(layout: &Layout, facts: &ModelFacts) -> Result<ConversationCost, Box<dyn Error>> {
    let scenario = Scenario {
        turns: TURNS,
        tool_rounds: 2,
        pauses: Pauses::between(10, 1_200),
        edit_every: Some(20),
        compact_above: facts.context_window.map(|window| window / 10 * 8),
        ..Scenario::default()
    };
    let provider = SimulatedProvider { facts, rules: CacheModel::of(facts, None), ttl: Default::default() };
    Ok(simulate(layout, &scenario, provider)?.costs)
}

/// A prompt like that of blueprint `gateway`.
fn layout(way: SendStrategy) -> Layout {
    let layer =
        |name: &str, tokens, class, changes| SizedLayer { name: name.to_owned(), tokens, class, changes };
    let mut system: Vec<SizedLayer> = (0..8)
        .map(|file| layer(&format!("file {file}"), 400, CacheClass::Agent, ChangeTrigger::WithFile(file)))
        .collect();
    system.push(layer("place", 200, CacheClass::Conversation, ChangeTrigger::Never));
    let now = layer("now", 80, CacheClass::None, ChangeTrigger::EveryMinute);
    let announced = match way {
        SendStrategy::FreezeThenAppend => vec![now],
        SendStrategy::RebuildEachTurn | SendStrategy::InjectEverything => {
            system.insert(8, now);
            Vec::new()
        }
    };
    Layout { way, tools: 1_500, system, announced, files: 8 }
}

fn priced(facts: &ModelFacts, calls: usize) -> Price {
    let costs = (0..calls as u64).map(|call| {
        let usage = Usage {
            input: 100,
            output: 250,
            cache_read: 4_000 + call % 90_000,
            cache_write: 700,
            cache_write_1h: 0,
            ..Usage::default()
        };
        cost_of(Some(facts), &usage)
    });
    costs.fold(Price::Known(Money::default()), |sum, cost| sum + cost)
}
