//! Blocks and breakpoints: the physical order of layers.

use foreword_prompt::cache_plan::{MAX_BREAKPOINTS, breakpoints};
use foreword_prompt::layer::{Layer, Stability};
use foreword_prompt::prompt::CacheClass;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixture::{Fixture, layer, lines};

const FROZEN: [Stability; 3] = [Stability::Static, Stability::Agent, Stability::Conversation];

fn classes(fixture: &Fixture) -> Vec<(CacheClass, String)> {
    let names = |layers: &[foreword_prompt::layer::LayerId]| {
        layers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    fixture.prompt().frozen.blocks.iter().map(|block| (block.class, names(&block.layers))).collect()
}

#[test]
fn cache_class_never_increases_along_the_prompt() {
    let fixture = Fixture::of(
        "
allow_cache_unsafe: true
layers:
  - { id: rules, stability: static, source: { text: Be kind. } }
  - { id: now, stability: turn, source: { text: It is late. } }
  - { id: visit, stability: conversation, source: { text: Bob is here. } }
  - { id: soul, stability: agent, source: { text: You are Ada. } }
",
    );
    assert_eq!(
        classes(&fixture),
        [(CacheClass::Static, "rules".to_owned()), (CacheClass::Conversation, "visit soul".to_owned())]
    );
    let text = fixture.prompt().text();
    assert!(text.starts_with("Be kind.\n\nBob is here.\n\nYou are Ada."), "{text}");
    assert!(text.ends_with("It is late.\n</turn-context>"), "{text}");
}

#[test]
fn layers_of_one_stability_share_a_block() {
    let layers = ["b", "a", "c"].map(|id| layer(id, Stability::Agent, id)).to_vec();
    assert_eq!(classes(&Fixture::layers(layers)), [(CacheClass::Agent, "b a c".to_owned())]);
}

proptest! {
    #[test]
    fn breakpoints_are_few_cumulative_and_above_the_minimum(
        parts in proptest::collection::vec((select(&FROZEN[..]), 1usize..30), 0..8),
        unsafe_order in any::<bool>(),
        min_cacheable in 0usize..900,
    ) {
        let mut layers: Vec<Layer> = parts
            .iter()
            .enumerate()
            .map(|(index, (stability, count))| layer(&format!("l{index}"), *stability, &lines(*count)))
            .collect();
        if !unsafe_order {
            layers.sort_by_key(|layer| layer.stability);
        }
        let mut fixture = Fixture::layers(layers);
        fixture.blueprint.allow_cache_unsafe = unsafe_order;
        let frozen = fixture.prompt().frozen;
        let points = breakpoints(&frozen, min_cacheable);
        prop_assert!(points.len() < MAX_BREAKPOINTS);
        for point in &points {
            let before: usize = frozen.blocks[..=point.block].iter().map(|block| block.tokens).sum();
            prop_assert_eq!(point.tokens, before);
            prop_assert!(point.tokens >= min_cacheable);
            prop_assert_eq!(point.at, frozen.blocks[point.block].range.end);
            prop_assert_eq!(point.class, frozen.blocks[point.block].class);
        }
        let worthy = frozen.tokens >= min_cacheable.max(1);
        let last = points.last().map(|point| point.at);
        prop_assert_eq!(last, worthy.then_some(frozen.text.len()), "the largest prefix is never left out");
    }
}
