//! The sovereign's layers: their sizes, the separators between them, and the compact form.

use foreword_prompt::prompt::{Prompt, TurnPlacement};
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::turn_text::TurnText;

use crate::fixture::Fixture;

const SEPARATOR: &str = "\n\n---\n\n";
/// Seed 002's estimates for layers 0 to 9.
const ESTIMATES: [usize; 10] = [80, 60, 100, 80, 80, 150, 120, 100, 80, 60];

/// The exact counters.
const EXACT: [Tokenizer; 2] = [Tokenizer::O200kBase, Tokenizer::Cl100kBase];

fn sovereign(window: Option<usize>) -> Fixture {
    let mut fixture = Fixture::built_in("sovereign");
    fixture.counter = Tokenizer::O200kBase;
    fixture.placement = TurnPlacement::System;
    fixture.budget.window = window;
    fixture
}

/// The layers' texts, as the separators divide them.
fn sections(prompt: &Prompt) -> Vec<&str> {
    prompt.frozen.text.split(SEPARATOR).collect()
}

#[test]
fn layer_tokens_are_within_20_percent_of_estimates() {
    let prompt = sovereign(None).prompt();
    assert_eq!(sections(&prompt).len(), 10);
    let mut wrong = Vec::new();
    for counter in EXACT {
        for (layer, (text, estimate)) in sections(&prompt).into_iter().zip(ESTIMATES).enumerate() {
            // Reports count the separator with the preceding layer.
            let tokens = counter.get().count(&format!("{text}{SEPARATOR}"));
            let allowed = estimate * 80 / 100..=estimate * 120 / 100;
            if !allowed.contains(&tokens) {
                wrong.push(format!("layer {layer} has {tokens} {counter:?} tokens, allowed are {allowed:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn layers_are_separated_and_dynamic_context_is_last() {
    let mut fixture = sovereign(None);
    fixture.situation = TurnText::new("## Current State\n- turn_number: 7");
    let text = fixture.prompt().text();
    let sections: Vec<&str> = text.split(SEPARATOR).collect();
    assert_eq!(sections.len(), 11);
    for (layer, section) in sections[..10].iter().enumerate() {
        assert!(section.starts_with(&format!("## Layer {layer}: ")), "{section}");
    }
    assert_eq!(sections[10], "## Current State\n- turn_number: 7");
}

#[test]
fn soul_is_named_in_layer_3_without_placeholder() {
    let prompt = sovereign(None).prompt();
    assert!(sections(&prompt)[3].contains("You are `Ada`."));
    assert!(!prompt.frozen.text.contains("{soul}"));
}

#[test]
fn compact_form_keeps_0_1_and_5_whole() {
    let full = sovereign(Some(16_000)).prompt();
    let compact = sovereign(Some(8_000)).prompt();
    assert!(!full.facts.compact && compact.facts.compact);
    let (full, compact) = (sections(&full), sections(&compact));
    assert_eq!(compact.len(), 10);
    for layer in 0..10 {
        if matches!(layer, 0 | 1 | 5) {
            assert_eq!(compact[layer], full[layer]);
        } else {
            assert_eq!(compact[layer].lines().count(), 1, "{}", compact[layer]);
        }
    }
}

#[test]
fn compact_form_is_about_400_tokens() {
    let compact = sovereign(Some(8_000)).prompt();
    for counter in EXACT {
        let tokens = counter.get().count(&compact.frozen.text);
        assert!((320..=480).contains(&tokens), "{tokens} {counter:?} tokens");
    }
}
