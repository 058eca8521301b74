//! Layers that do not fit, case by case.

use foreword_prompt::budget::TokenBudget;
use foreword_prompt::layer::{Authority, Fit, Layer, Overflow, Stability};
use foreword_prompt::report::View;

use crate::fixture::{Fixture, layer, lines};

fn with_priority(id: &str, priority: u8, text: &str) -> Layer {
    let mut one = layer(id, Stability::Agent, text);
    one.fit.priority = priority;
    one
}

fn fitting(id: &str, text: &str, change: impl Fn(&mut Fit)) -> Layer {
    let mut one = layer(id, Stability::Agent, text);
    change(&mut one.fit);
    one
}

/// The names of the layers that were cut under a budget.
fn cut_under(layers: &[Layer], budget: usize) -> Vec<String> {
    let report = Fixture::layers(layers.to_vec()).budget(budget).report(View::Owner);
    report.layers.into_iter().filter(|layer| layer.status == "cut").map(|layer| layer.id).collect()
}

#[test]
fn lowest_priority_is_cut_first_and_later_equals_first() {
    let text = lines(30);
    let weight = Fixture::layers(vec![layer("one", Stability::Agent, &text)]).prompt().tokens();
    let ranked =
        [with_priority("high", 90, &text), with_priority("low", 10, &text), with_priority("mid", 50, &text)];
    assert_eq!(cut_under(&ranked, 4 * weight), [""; 0]);
    assert_eq!(cut_under(&ranked, 5 * weight / 2), ["low"]);
    assert_eq!(cut_under(&ranked, 3 * weight / 2), ["low", "mid"]);
    let equals = [with_priority("first", 50, &text), with_priority("last", 50, &text)];
    assert_eq!(cut_under(&equals, 3 * weight / 2), ["last"]);
}

#[test]
fn layer_at_its_minimum_passes_the_cut_on() {
    let spared = fitting("spared", &lines(30), |fit| (fit.priority, fit.min_tokens) = (10, 150));
    let fixture = Fixture::layers(vec![spared, with_priority("other", 50, &lines(30))]).budget(300);
    let (spared, other) = (fixture.layer("spared"), fixture.layer("other"));
    assert_eq!((spared.status, other.status), ("cut", "cut"));
    assert!(
        spared.tokens >= 149,
        "{} tokens: one is the separator, which the first layer loses",
        spared.tokens
    );
}

#[test]
fn minimum_overrides_cutting_at_whole_lines() {
    let long_line = "harbour ".repeat(200);
    let text = format!("short\n{long_line}\n{long_line}\nshort");
    let spared = fitting("spared", &text, |fit| (fit.priority, fit.min_tokens) = (10, 100));
    let fixture = Fixture::layers(vec![with_priority("other", 50, "Whole."), spared]).budget(250);
    let spared = fixture.layer("spared");
    assert!((100..=250).contains(&spared.tokens), "{} tokens", spared.tokens);
}

#[test]
fn layer_maximum_applies_in_an_empty_budget() {
    let limited = fitting("limited", &lines(30), |fit| fit.max_tokens = Some(100));
    let layer = Fixture::layers(vec![limited]).layer("limited");
    assert_eq!(layer.status, "cut");
    assert!(layer.tokens <= 100);
}

#[test]
fn uncuttable_layer_is_an_error_with_its_sizes() {
    let strict =
        fitting("strict", &lines(30), |fit| (fit.overflow, fit.max_tokens) = (Overflow::Reject, Some(50)));
    let error = Fixture::layers(vec![strict]).build().unwrap_err();
    insta::assert_snapshot!(format!("{error}\n{}", error.help()), @"
    layer `strict` does not fit: needs 300 tokens, its limit is 50
    shorten `strict`, raise its `max_tokens`, or let it be cut with `overflow: head_tail`
    ");
}

#[test]
fn policy_is_never_cut_and_error_names_sizes() {
    let mut policy = fitting("rules", &lines(30), |fit| fit.overflow = Overflow::Reject);
    policy.authority = Authority::Policy;
    let layers =
        vec![policy, layer("story", Stability::Agent, &lines(60)), layer("now", Stability::Turn, "Late.")];
    let fixture = Fixture::layers(layers);
    let error = fixture.clone().budget(200).build().unwrap_err();
    insta::assert_snapshot!(format!("{error}\n{}", error.help()), @"
    the prompt does not fit: needs at least 334 tokens, prompt.budget is 200; the layers that can't be cut further are `rules` (300), `story` (18), `now` (3)
    raise `prompt.budget.tokens`, or shorten `rules`
    ");
    let mut small = fixture;
    small.budget = TokenBudget { tokens: 30_000, window: Some(200), history: 0 };
    let error = small.build().unwrap_err();
    insta::assert_snapshot!(format!("{error}\n{}", error.help()), @"
    the prompt does not fit: needs at least 334 tokens, the model's context window is 200; the layers that can't be cut further are `rules` (300), `story` (18), `now` (3)
    choose a model with a larger context window, or shorten `rules`
    ");
}

#[test]
fn smaller_of_budget_and_window_applies() {
    for (tokens, window, limit) in [(500, None, 500), (500, Some(300), 300), (300, Some(500), 300)] {
        let mut fixture = Fixture::layers(vec![
            layer("story", Stability::Agent, &lines(60)),
            layer("now", Stability::Turn, "It is late."),
        ]);
        fixture.budget = TokenBudget { tokens, window, history: 0 };
        let report = fixture.report(View::Principal);
        assert_eq!(report.budget.limit, limit);
        assert!((limit - 30..=limit).contains(&report.tokens.total), "{} of {limit}", report.tokens.total);
    }
}
