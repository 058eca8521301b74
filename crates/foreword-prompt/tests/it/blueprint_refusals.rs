//! What a blueprint is refused for, in the words people read.

use std::fmt::Write;

use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::blueprint::spec::BlueprintSpec;

/// All problems of a blueprint: line, message, help.
fn refusal(yaml: &str) -> String {
    let spec: BlueprintSpec = serde_saphyr::from_str(yaml).unwrap();
    let problems = Blueprint::from_spec("mine", &spec).unwrap_err();
    let mut out = String::new();
    for problem in problems {
        writeln!(out, "line {}: {problem}", problem.location.line()).unwrap();
        writeln!(out, "  help: {}", problem.help.as_deref().unwrap_or("none")).unwrap();
    }
    out
}

#[test]
fn a_less_stable_layer_before_a_more_stable_one_is_refused() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: rules, stability: static, source: { text: Be kind. } }
  - { id: visit, stability: conversation, source: { text: Hello. } }
  - { id: soul, stability: agent, source: { text: You are Ada. } }
"), @"");
}

#[test]
fn an_id_can_be_used_once_and_only_in_plain_characters() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: soul, stability: static, source: { text: a } }
  - { id: soul, stability: static, source: { text: b } }
  - { id: \"two words\", stability: static, source: { text: c } }
"), @"");
}

#[test]
fn a_layer_has_exactly_one_source() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: both, stability: agent, source: { file: SOUL.md, overlay: situation } }
  - { id: none, stability: agent, source: {} }
  - id: three
    stability: agent
    source: { text: a, generated: tools, builtin: precedence }
"), @"");
}

#[test]
fn an_unknown_built_in_text_is_refused_with_a_suggestion() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: rules, stability: static, source: { builtin: precedense } }
  - { id: soul, stability: agent, source: { file: SOUL.md, builtin: weather } }
"), @"");
}

#[test]
fn a_layer_that_contradicts_itself_is_refused() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: rules, authority: policy, overflow: head_tail, stability: static, source: { text: a } }
  - { id: clock, stability: conversation, source: { dynamic: runtime } }
  - { id: fixed, stability: conversation, mutable: { max_chars: 100 }, source: { text: a } }
  - { id: stored, stability: conversation, source: { stored: sovereign-6 } }
  - { id: loud, priority: 101, stability: conversation, source: { text: a } }
"), @"");
}

#[test]
fn a_layer_that_moves_to_a_menu_nobody_shows_is_refused() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: notes, overflow: menu, stability: agent, source: { file: NOTES.md } }
"), @"");
}

#[test]
fn a_blueprint_without_layers_is_refused() {
    insta::assert_snapshot!(refusal("layers: []"), @"");
}

#[test]
fn a_name_with_a_placeholder_is_left_for_the_occasion() {
    let spec: BlueprintSpec = serde_saphyr::from_str(
        "layers: [{ id: channel, stability: agent, source: { builtin: 'channel-{family}' } }]",
    )
    .unwrap();
    assert!(Blueprint::from_spec("mine", &spec).is_ok());
}
