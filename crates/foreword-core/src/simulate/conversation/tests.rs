//! Whole conversations against hand-computed costs, and properties of all of them.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::models::ModelCatalog;
use crate::simulate::Pauses;

/// Models with simple prices: a token costs one millionth of a dollar.
static CATALOG: LazyLock<ModelCatalog> = LazyLock::new(|| {
    let table = "
- {id: a/marked, min_cacheable: 1000, breakpoints: explicit, context_window: 20000,
   prices: {input: 1, output: 5, cache_read: 0.1, cache_write_5m: 1.25, cache_write_1h: 2}}
- {id: o/automatic, min_cacheable: 1024, breakpoints: automatic, prices: {input: 1, output: 4, cache_read: 0.5}}
- {id: o/either, min_cacheable: 1024, breakpoints: either,
   prices: {input: 1, output: 4, cache_read: 0.1, cache_write_5m: 1.25}}
- {id: n/none, breakpoints: none, prices: {input: 1, output: 1}}
- {id: u/unknown, breakpoints: explicit}
";
    ModelCatalog::from_yaml(table).unwrap()
});

fn provider(model: &str, ttl: CacheTtl) -> SimulatedProvider<'static> {
    let facts = CATALOG.find(model).unwrap();
    SimulatedProvider { facts, rules: CacheModel::of(facts, None), ttl }
}

fn layer(name: &str, tokens: usize, class: CacheClass, changes: ChangeTrigger) -> SizedLayer {
    SizedLayer { name: name.to_owned(), tokens, class, changes }
}

/// 1,000 tokens of tools, a file of 1,000, a clock of 50 and a situation of 500, for each strategy.
fn layout(way: SendStrategy) -> Layout {
    let file = layer("soul", 1_000, CacheClass::Agent, ChangeTrigger::WithFile(0));
    let clock = layer("clock", 50, CacheClass::None, ChangeTrigger::EveryMinute);
    let situation = layer("situation", 500, CacheClass::Conversation, ChangeTrigger::Never);
    let memory = layer("MEMORY.md", 300, CacheClass::Agent, ChangeTrigger::Never);
    let (system, announced) = match way {
        SendStrategy::FreezeThenAppend => (vec![file, situation], vec![clock]),
        SendStrategy::RebuildEachTurn => (vec![file, clock, situation], vec![]),
        SendStrategy::InjectEverything => (vec![situation, file, memory, clock], vec![]),
    };
    Layout { way, tools: 1_000, system, announced, files: 1 }
}

/// Three turns a minute apart: questions of 100 tokens, answers of 200.
fn short() -> Scenario {
    Scenario {
        turns: 3,
        message: 100,
        answer: 200,
        tool_rounds: 0,
        pauses: Pauses::every(60),
        ..Scenario::default()
    }
}

fn costs(way: SendStrategy, scenario: &Scenario, model: &str) -> ConversationCost {
    simulate(&layout(way), scenario, provider(model, CacheTtl::FiveMinutes)).unwrap().costs
}

/// The cost of a conversation, in millionths of a dollar.
fn check(model: &str, scenario: &Scenario, expected: [(SendStrategy, f64); 3]) {
    for (way, millionths) in expected {
        let cost = costs(way, scenario, model).cost.known().unwrap();
        assert_eq!(cost.picodollars() as f64 / 1e6, millionths, "{model} {way:?}");
    }
}

use SendStrategy::{FreezeThenAppend as Freeze, InjectEverything as Inject, RebuildEachTurn as Rebuild};

#[test]
fn explicit_cache_matches_hand_computed_costs() {
    // Freeze: 2,500 of head; a message is 150 with the clock, an answer 200.
    //   turn 1: 2,650 written × 1.25                    = 3,312.5
    //   turn 2: 2,650 read × 0.1 + 350 written × 1.25   =   702.5
    //   turn 3: 3,000 read × 0.1 + 350 written × 1.25   =   737.5
    //   answers: 3 × 200 × 5                            = 3,000.0    together 7,752.5
    // Rebuilt: 2,550 of head, 2,000 of them before the clock. Cheapest with a breakpoint after those alone.
    //   turn 1: 2,000 written × 1.25 +   650            = 3,150.0
    //   turn 2: 2,000 read × 0.1     +   950            = 1,150.0
    //   turn 3: 2,000 read × 0.1     + 1,250            = 1,450.0
    //   answers                                           3,000.0    together 8,750.0
    // Injected: 2,850 of head, one text after the tools, so that only the tools stay cached.
    //   turn 1: 1,000 × 1.25 + 1,950                    = 3,200.0
    //   turn 2: 1,000 × 0.1  + 2,250                    = 2,350.0
    //   turn 3: 1,000 × 0.1  + 2,550                    = 2,650.0
    //   answers                                           3,000.0    together 11,200.0
    check("a/marked", &short(), [(Freeze, 7_752.5), (Rebuild, 8_750.0), (Inject, 11_200.0)]);
}

#[test]
fn automatic_cache_matches_hand_computed_costs() {
    // Reads in steps of 128 from 1,024 on, at half the price; writes are free.
    // Freeze: 2,650; then 2,560 of 3,000 read: 1,280 + 440; then 2,944 of 3,350 read: 1,472 + 406; answers 2,400.
    // Rebuilt: 2,650; then 1,920 read of 2,950: 960 + 1,030; then of 3,250: 960 + 1,330; answers 2,400.
    // Injected: the text is the same up to the clock, 2,800 tokens, of which 2,688 are read: of 2,950 first, then 3,250
    //   and 3,550: 1,344 + 562, and 1,344 + 862; answers 2,400.
    check("o/automatic", &short(), [(Freeze, 8_648.0), (Rebuild, 9_330.0), (Inject, 9_462.0)]);
}

#[test]
fn either_cache_matches_hand_computed_costs() {
    // Everything that is not read is written, as the end is always marked. Freeze: as with explicit breakpoints, output
    // at 4.
    //   3,312.5 + 702.5 + 737.5 + 2,400
    // Rebuilt: 2,650 × 1.25 = 3,312.5; 2,000 × 0.1 + 950 × 1.25 = 1,387.5; 200 + 1,250 × 1.25 = 1,762.5; 2,400
    // Injected: the tools alone are below the minimum, so all of it is written each time:
    //   (2,950 + 3,250 + 3,550) × 1.25 = 12,187.5; 2,400
    check("o/either", &short(), [(Freeze, 7_152.5), (Rebuild, 8_862.5), (Inject, 14_587.5)]);
}

#[test]
fn tool_rounds_read_the_start_of_the_turn() {
    // One turn, one call of a tool: 60 are called, 400 come back. Freeze:
    //   call 1: 2,650 written × 1.25 = 3,312.5, 60 × 5 = 300
    //   call 2: 2,650 read × 0.1 = 265, 460 written × 1.25 = 575, 200 × 5 = 1,000        together 5,452.5
    // Rebuilt, 2,550 of head and cheapest with a mark at its end, as nothing behind it is ever read:
    //   call 1: 2,550 × 1.25 + 100 + 300; call 2: 2,550 × 0.1 + 560 + 1,000              together 5,402.5
    // Injected, the same with 2,850 of head:                                             together 5,807.5
    let one = Scenario { turns: 1, tool_rounds: 1, ..short() };
    check("a/marked", &one, [(Freeze, 5_452.5), (Rebuild, 5_402.5), (Inject, 5_807.5)]);
}

#[test]
fn expired_cache_is_written_again() {
    let slow = Scenario { pauses: Pauses::every(600), ..short() };
    // 2,650, 3,000 and 3,350 written × 1.25 = 11,250; answers 3,000.
    let cost = |ttl| {
        let simulated = simulate(&layout(Freeze), &slow, provider("a/marked", ttl)).unwrap();
        simulated.costs.cost.known().unwrap().picodollars() as f64 / 1e6
    };
    assert_eq!(cost(CacheTtl::FiveMinutes), 14_250.0);
    // The first 2,000 for an hour: 2,000 × 2 + 650 × 1.25; then 2,000 × 0.1 + 1,000 × 1.25; then 200 + 1,350 × 1.25.
    assert_eq!(cost(CacheTtl::OneHour), 4_812.5 + 1_450.0 + 1_887.5 + 3_000.0);
}

#[test]
fn edit_is_a_note_or_a_new_prompt() {
    let edited = Scenario { turns: 4, edit_every: Some(2), ..short() };
    let plain = Scenario { turns: 4, ..short() };
    let (with, without) = (costs(Freeze, &edited, "a/marked"), costs(Freeze, &plain, "a/marked"));
    assert_eq!((with.prompts, without.prompts), (1, 1));
    // One edit, before the third turn: a note of 1,020 is written, and read in the fourth.
    assert_eq!(with.usage.cache_write - without.usage.cache_write, 1_020);
    assert_eq!(with.usage.cache_read - without.usage.cache_read, 1_020);
    let rebuilt = costs(Rebuild, &edited, "a/marked");
    // Only the tools were unchanged before the third turn: 1,000 fewer are read.
    assert_eq!(costs(Rebuild, &plain, "a/marked").usage.cache_read - rebuilt.usage.cache_read, 1_000);
}

#[test]
fn edit_with_cold_cache_needs_no_note() {
    let night = Pauses::every(60).with_a_night_every(Some(2));
    let edited = Scenario { turns: 4, edit_every: Some(2), pauses: night.clone(), ..short() };
    let plain = Scenario { edit_every: None, ..edited.clone() };
    let (with, without) = (costs(Freeze, &edited, "a/marked"), costs(Freeze, &plain, "a/marked"));
    assert_eq!((with.prompts, without.prompts), (2, 1));
    assert_eq!(with.cost, without.cost);
}

#[test]
fn every_strategy_compacts_long_conversations() {
    let long = Scenario { turns: 60, compact_above: Some(16_000), summary: 500, ..short() };
    for way in SendStrategy::ALL {
        let costs = costs(way, &long, "a/marked");
        // Each turn adds 300 or 350 tokens; there is room for about 13,000.
        assert_eq!(costs.summaries, 1, "{way:?}");
        assert_eq!(costs.calls, 61);
        assert_eq!(costs.turns.len(), 60);
    }
    let error = simulate(
        &layout(Freeze),
        &Scenario { compact_above: None, ..long },
        provider("a/marked", CacheTtl::default()),
    );
    assert_eq!(error.unwrap_err().to_string(), "turn 51 has 20150 tokens, and the context window is 20000");
}

#[test]
fn every_token_is_written_once() {
    let busy = Scenario { turns: 2, tool_rounds: 60, tool_call: 10, tool_result: 40, ..short() };
    let costs = costs(Freeze, &busy, "a/marked");
    // All but the last answer, which is in no request.
    let held = 2_500 + 2 * (150 + 60 * 50) + 200;
    assert_eq!(costs.usage.cache_write, held);
    assert_eq!(costs.usage.input, 0);
}

#[test]
fn unchanged_clock_is_sent_once() {
    let quick = Scenario { pauses: Pauses::every(0), ..short() };
    assert_eq!(costs(Rebuild, &quick, "a/marked").prompts, 1);
    assert_eq!(costs(Rebuild, &short(), "a/marked").prompts, 3);
    // 50 tokens of clock are sent once, not three times.
    assert_eq!(costs(Freeze, &quick, "a/marked").usage.cache_write, 2_650 + 300 + 300);
}

#[test]
fn unknown_price_is_never_zero() {
    for way in SendStrategy::ALL {
        let costs = costs(way, &short(), "u/unknown");
        assert_eq!(costs.cost, Price::Unknown);
        assert_eq!(costs.times(&costs), None);
    }
}

#[test]
fn turn_context_in_system_invalidates_history() {
    let mut in_system = layout(Freeze);
    let clock = in_system.announced.remove(0);
    in_system.system.push(clock);
    let simulated = simulate(&in_system, &short(), provider("a/marked", CacheTtl::FiveMinutes)).unwrap();
    assert_eq!(simulated.costs.prompts, 3);
    // The frozen 2,500 are read twice, and nothing after the clock.
    assert_eq!(simulated.costs.usage.cache_read, 5_000);
}

fn any_layouts() -> impl Strategy<Value = [Layout; 3]> {
    let sizes = (0..3_000_usize, 1_100..8_000_usize, 0..1_500_usize, 20..120_usize, 0..4_000_usize);
    sizes.prop_map(|(tools, soul, situation, clock, memory)| {
        SendStrategy::ALL.map(|way| {
            let mut layout = layout(way);
            layout.tools = tools;
            for layer in layout.system.iter_mut().chain(&mut layout.announced) {
                layer.tokens = match layer.name.as_str() {
                    "soul" => soul,
                    "situation" => situation,
                    "clock" => clock,
                    _ => memory,
                };
            }
            layout
        })
    })
}

fn any_scenario() -> impl Strategy<Value = Scenario> {
    (1..60_usize, 20..600_usize, 20..900_usize, 0..4_usize, 0..900_u64, proptest::option::of(1..9_usize))
        .prop_map(|(turns, message, answer, tool_rounds, pause, edit_every)| Scenario {
            turns,
            message,
            answer,
            tool_rounds,
            pauses: Pauses::every(pause),
            edit_every,
            ..Scenario::default()
        })
}

proptest! {
    // A case is several hundred requests, with several strategies.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn freezing_costs_no_more_than_rebuilding_without_edits(
        layouts in any_layouts(), scenario in any_scenario(), pause in 60..=300_u64, turns in 10..60_usize
    ) {
        let scenario = Scenario { pauses: Pauses::every(pause), turns, edit_every: None, ..scenario };
        for model in ["a/marked", "o/automatic", "o/either"] {
            let mut facts = CATALOG.find(model).unwrap().clone();
            facts.context_window = None;
            let provider = SimulatedProvider { facts: &facts, ..provider(model, CacheTtl::FiveMinutes) };
            let [freeze, rebuild, inject] =
                layouts.each_ref().map(|layout| simulate(layout, &scenario, provider).unwrap().costs.cost.known());
            prop_assert!(freeze <= rebuild, "{model}: {freeze:?} {rebuild:?}");
            prop_assert!(freeze <= inject, "{model}: {freeze:?} {inject:?}");
        }
    }

    #[test]
    fn cost_parts_and_turns_add_up(layouts in any_layouts(), scenario in any_scenario()) {
        let scenario = Scenario { compact_above: Some(15_000), ..scenario };
        for (layout, model) in layouts.iter().flat_map(|layout| CATALOG.iter().map(move |facts| (layout, facts))) {
            let model = model.id.as_str();
            let Ok(Simulated { costs, .. }) = simulate(layout, &scenario, provider(model, CacheTtl::OneHour)) else {
                continue;
            };
            let parts = costs.parts.system + costs.parts.history + costs.parts.tail + costs.parts.answers;
            prop_assert_eq!(parts, costs.cost);
            let turns = costs.turns.iter().fold(Price::Known(Money::default()), |sum, turn| sum + *turn);
            prop_assert_eq!(turns, costs.cost);
            prop_assert_eq!(costs.turns.len(), scenario.turns);
            prop_assert!((0.0..=1.0).contains(&costs.hit_rate()));
            // Nothing can be read that was not sent before.
            prop_assert!(costs.calls > 1 || costs.usage.cache_read == 0);
        }
    }

    #[test]
    fn simulation_is_deterministic(layouts in any_layouts(), scenario in any_scenario()) {
        let run = || simulate(&layouts[1], &scenario, provider("o/either", CacheTtl::FiveMinutes));
        prop_assert_eq!(run(), run());
    }
}
