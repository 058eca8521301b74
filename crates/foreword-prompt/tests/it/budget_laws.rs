//! Properties of the budget, over random layers: never exceeded, and every layer's own limits observed.

use foreword_prompt::error::PromptError;
use foreword_prompt::layer::{Authority, Dynamic, Fit, Layer, Overflow, Source, Stability};
use foreword_prompt::prompt::TurnPlacement;
use foreword_prompt::report::{Report, View};
use foreword_prompt::tokens::Tokenizer;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixture::{Fixture, entry, layer, lines};

prop_compose! {
    fn any_fit()(
        overflow in select(vec![Overflow::Reject, Overflow::HeadTail, Overflow::HeadTail, Overflow::HeadTail]),
        priority in 0u8..=100,
        min_tokens in select(vec![0usize, 0, 25, 60, 150]),
        max_tokens in proptest::option::of(80usize..400),
    ) -> Fit {
        Fit { overflow, priority, min_tokens: min_tokens.min(max_tokens.unwrap_or(400) - 10), max_tokens }
    }
}

prop_compose! {
    fn any_layers()(
        parts in proptest::collection::vec((any_fit(), 0usize..60, "[ -~漢é\n]{0,120}", any::<bool>()), 1..6),
        turn in 0usize..20,
    ) -> Vec<Layer> {
        let mut layers: Vec<Layer> = parts
            .into_iter()
            .enumerate()
            .map(|(index, (fit, count, words, policy))| {
                let mut one = layer(&format!("layer{index}"), Stability::Agent, &(lines(count) + &words));
                one.fit = fit;
                if policy && fit.overflow == Overflow::Reject {
                    one.authority = Authority::Policy;
                }
                one
            })
            .collect();
        layers.push(layer("turn", Stability::Turn, &lines(turn)));
        layers
    }
}

prop_compose! {
    fn any_fixture()(
        layers in any_layers(),
        tokens in 30usize..1_500,
        window in proptest::option::of(30usize..1_500),
        system in any::<bool>(),
    ) -> Fixture {
        let mut fixture = Fixture::layers(layers).budget(tokens);
        fixture.budget.window = window;
        fixture.placement = if system { TurnPlacement::System } else { TurnPlacement::Message };
        fixture
    }
}

prop_compose! {
    /// With layers that move to a menu, and an optional menu.
    fn any_fixture_with_a_menu()(
        mut fixture in any_fixture(),
        moving in proptest::collection::vec((0u8..=100, 0usize..30), 0..3),
        menu in any_fit(),
        entries in 0usize..40,
    ) -> Fixture {
        for (index, (priority, count)) in moving.into_iter().enumerate() {
            let mut one = layer(&format!("moving{index}"), Stability::Agent, &lines(count));
            (one.fit.overflow, one.fit.priority) = (Overflow::Menu, priority);
            fixture.blueprint.layers.insert(0, one);
        }
        let source = Source::Dynamic(Dynamic::MemoryMenu);
        fixture.blueprint.layers.push(Layer { source, fit: menu, ..layer("menu", Stability::Turn, "") });
        fixture.entries = (0..entries).map(|index| entry(&format!("social/{index}.md"), 40, "a note")).collect();
        fixture
    }
}

/// The fixture with the effective limit `limit`.
fn limited(fixture: &Fixture, limit: usize) -> Fixture {
    let mut fixture = fixture.clone();
    match fixture.budget.window.filter(|window| *window < fixture.budget.tokens) {
        Some(_) => {
            fixture.budget.window = Some(limit);
            fixture.budget.tokens = fixture.budget.tokens.max(limit);
        }
        None => {
            fixture.budget.tokens = limit;
            fixture.budget.window = fixture.budget.window.map(|window| window.max(limit));
        }
    }
    fixture
}

fn check_least(fixture: &Fixture) -> Result<(), TestCaseError> {
    match fixture.build() {
        Ok(_) => {}
        Err(PromptError::DoesNotFit { tokens, limit, .. }) => {
            prop_assert_eq!(limit, fixture.budget.limit());
            prop_assert!(tokens > limit);
            let exact = limited(fixture, tokens).build();
            prop_assert!(exact.is_ok(), "{tokens} should do: {:?}", exact.err());
            prop_assert!(limited(fixture, tokens - 1).build().is_err(), "less than {tokens} would do");
        }
        Err(PromptError::LayerTooLarge { layer, tokens, limit }) => {
            prop_assert!(tokens > limit);
            let with_limit = |limit| {
                let mut fixture = fixture.clone();
                let mut layers = fixture.blueprint.layers.iter_mut();
                layers.find(|one| one.id == layer).unwrap().fit.max_tokens = Some(limit);
                let refused = fixture.build().err();
                refused.is_some_and(
                    |error| matches!(error, PromptError::LayerTooLarge { layer: one, .. } if one == layer),
                )
            };
            prop_assert!(!with_limit(tokens) && with_limit(tokens - 1), "`{layer}` needs {tokens}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn reported_minimum_budget_is_exact(fixture in any_fixture()) {
        check_least(&fixture)?;
    }

    #[test]
    fn reported_minimum_budget_is_exact_with_a_menu(fixture in any_fixture_with_a_menu()) {
        check_least(&fixture)?;
    }

    #[test]
    fn prompt_fits_its_limit_or_is_rejected(fixture in any_fixture()) {
        let limit = fixture.budget.limit();
        match fixture.build() {
            Ok(prompt) => {
                let report = Report::of(&prompt, View::Principal);
                prop_assert!(report.tokens.total <= limit, "{} > {limit}", report.tokens.total);
                prop_assert_eq!(report.tokens.total, report.tokens.frozen + report.tokens.turn);
                prop_assert_eq!(report.budget.limit, limit);
            }
            Err(PromptError::LayerTooLarge { tokens, limit, .. }) => prop_assert!(tokens > limit),
            Err(PromptError::DoesNotFit { tokens, limit: reported_limit, layers, .. }) => {
                prop_assert_eq!(reported_limit, limit);
                prop_assert!(tokens > limit && !layers.is_empty());
                prop_assert!(layers.is_sorted_by(|one, next| one.tokens >= next.tokens));
            }
        }
    }

    #[test]
    fn every_layer_keeps_its_own_rule(fixture in any_fixture()) {
        let Ok(prompt) = fixture.build() else { return Ok(()) };
        let separator = Tokenizer::Estimate.get().count(&prompt.facts.separator);
        for segment in &prompt.frozen.segments {
            let (fit, cut) = (segment.layer.fit, segment.cut.is_some());
            prop_assert!(segment.tokens <= fit.max_tokens.unwrap_or(usize::MAX), "{:?}", segment.layer.id);
            prop_assert!(!cut || segment.layer.authority != Authority::Policy);
            prop_assert!(!cut || fit.overflow != Overflow::Reject);
            prop_assert!(!cut || segment.tokens + separator >= fit.min_tokens, "{:?}", segment.tokens);
        }
        let cuts = prompt.frozen.segments.iter().chain(prompt.turn.iter().map(|one| &one.segment));
        let warned = prompt.facts.warnings.iter().filter(|warning| warning.code == "cut").count();
        prop_assert_eq!(cuts.filter(|segment| segment.cut.is_some()).count(), warned, "never silent");
    }

    #[test]
    fn less_important_layers_are_cut_first(
        parts in proptest::collection::vec((0u8..100, 30usize..60), 2..6),
        budget in 100usize..2_000,
    ) {
        let layers = parts.iter().enumerate().map(|(index, (priority, count))| {
            let mut one = layer(&format!("layer{index}"), Stability::Agent, &lines(*count));
            one.fit.priority = *priority;
            one
        });
        let Ok(prompt) = Fixture::layers(layers.collect()).budget(budget).build() else { return Ok(()) };
        let segments = &prompt.frozen.segments;
        let least_cut = segments.iter().filter(|one| one.cut.is_some()).map(|one| one.layer.fit.priority).max();
        for segment in segments.iter().filter(|one| Some(one.layer.fit.priority) < least_cut) {
            prop_assert!(segment.cut.is_some(), "{:?} is whole", segment.layer.id);
        }
    }
}
