//! Assembly is deterministic, and every byte belongs to exactly one layer.

use foreword_prompt::layer::{Layer, Stability};
use foreword_prompt::prompt::TurnPlacement;
use foreword_prompt::report::{Report, View};
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Tokenizer;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixture::{Fixture, layer};

fn any_layer() -> impl Strategy<Value = (Stability, Option<String>, String)> {
    let stabilities = [Stability::Static, Stability::Agent, Stability::Conversation, Stability::Turn];
    (select(stabilities.to_vec()), proptest::option::of("## [a-z]{1,8}"), "[ a-zé漢\r\n-]{0,60}")
}

prop_compose! {
    fn any_fixture()(
        parts in proptest::collection::vec(any_layer(), 0..8),
        separator in select(vec!["\n\n", "\n\n---\n\n", "\n"]),
        system in any::<bool>(),
        unsafe_order in any::<bool>(),
    ) -> Fixture {
        let mut layers: Vec<Layer> = parts
            .into_iter()
            .enumerate()
            .map(|(index, (stability, heading, text))| {
                Layer { heading, ..layer(&format!("layer{index}"), stability, &text) }
            })
            .collect();
        if !unsafe_order {
            layers.sort_by_key(|layer| layer.stability);
        }
        let mut fixture = Fixture::layers(layers);
        fixture.blueprint.separator = separator.into();
        fixture.blueprint.allow_cache_unsafe = unsafe_order;
        fixture.placement = if system { TurnPlacement::System } else { TurnPlacement::Message };
        fixture
    }
}

proptest! {
    #[test]
    fn assembly_is_deterministic(fixture in any_fixture()) {
        let (one, other) = (fixture.prompt(), fixture.clone().prompt());
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.text(), other.text());
    }

    #[test]
    fn layer_ranges_tile_the_text(fixture in any_fixture()) {
        let report = fixture.report(View::Principal);
        let mut at = 0;
        for layer in &report.layers {
            prop_assert_eq!(layer.range[0], at, "{} in {:?}", layer.id, report.text);
            prop_assert!(layer.range[1] > at && report.text.is_char_boundary(layer.range[1]));
            at = layer.range[1];
        }
        prop_assert_eq!(at, report.text.len());
    }

    #[test]
    fn system_blocks_and_turn_context_are_the_text(fixture in any_fixture()) {
        let prompt = fixture.prompt();
        let report = Report::of(&prompt, View::Principal);
        let mut whole: String = report.system.iter().map(|block| block.text.as_str()).collect();
        if let Some(turn) = &report.turn_context {
            whole.push_str(prompt.before_turn());
            whole.push_str(turn);
        }
        prop_assert_eq!(whole, report.text);
    }

    #[test]
    fn hashes_match_segments_and_the_fingerprint_the_frozen_text(fixture in any_fixture()) {
        let prompt = fixture.prompt();
        prop_assert_eq!(prompt.frozen.fingerprint, ContentHash::of(&prompt.frozen.text));
        for segment in &prompt.frozen.segments {
            prop_assert_eq!(segment.hash, ContentHash::of(&prompt.frozen.text[segment.range.clone()]));
        }
        for one in &prompt.turn {
            prop_assert_eq!(one.segment.hash, ContentHash::of(&one.text));
        }
    }

    #[test]
    fn line_ends_are_the_same_on_every_machine(fixture in any_fixture(), text in "[a-c \r\n]{0,40}") {
        prop_assert!(!fixture.prompt().text().contains('\r'));
        let unix = text.replace("\r\n", "\n").replace('\r', "\n");
        let of = |text: &str| Fixture::layers(vec![layer("one", Stability::Agent, text)]).prompt().text();
        prop_assert_eq!(of(&text), of(&unix));
        prop_assert_eq!(of(&unix.replace('\n', "\r\n")), of(&unix));
    }

    #[test]
    fn layer_is_never_a_bare_heading(fixture in any_fixture()) {
        let prompt = fixture.prompt();
        let texts = prompt.frozen.segments.iter().map(|one| &prompt.frozen.text[one.range.clone()]);
        let segments = prompt.frozen.segments.iter().chain(prompt.turn.iter().map(|one| &one.segment));
        for (segment, text) in segments.zip(texts.chain(prompt.turn.iter().map(|one| &*one.text))) {
            let heading = segment.layer.heading.as_deref().unwrap_or_default();
            let words = text.trim_start_matches(&*prompt.facts.separator);
            prop_assert!(words.strip_prefix(heading).is_some_and(|rest| !rest.trim().is_empty()), "{text:?}");
        }
    }
}

#[test]
fn separators_headings_and_marks_are_in_the_count() {
    let layers = vec![
        layer("one", Stability::Static, "First things first."),
        Layer { heading: Some("## Second".into()), ..layer("two", Stability::Agent, "Then the rest.") },
        layer("three", Stability::Turn, "It is late."),
    ];
    let mut fixture = Fixture::layers(layers);
    fixture.blueprint.separator = "\n\n---\n\n".into();
    fixture.counter = Tokenizer::O200kBase;
    let count = |text: &str| Tokenizer::O200kBase.get().count(text);
    for placement in [TurnPlacement::Message, TurnPlacement::System] {
        fixture.placement = placement;
        let report = fixture.report(View::Principal);
        let sent: usize = report.system.iter().map(|block| count(&block.text)).sum();
        let turn = report.turn_context.as_deref().map_or(0, count);
        let (total, read) = (report.tokens.total, sent + turn);
        assert!((read..=read + 1).contains(&total), "{total} for {read} in {placement:?}");
        let layers: usize = report.layers.iter().map(|layer| layer.tokens).sum();
        assert_eq!(report.tokens.total, layers, "{placement:?}");
        assert_eq!(report.budget.remaining, 30_000 - report.tokens.total);
    }
}
