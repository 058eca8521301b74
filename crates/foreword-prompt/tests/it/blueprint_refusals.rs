//! Rejected blueprints and their messages.

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
fn less_stable_layer_before_a_stabler_one_is_refused() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: rules, stability: static, source: { text: Be kind. } }
  - { id: visit, stability: conversation, source: { text: Hello. } }
  - { id: soul, stability: agent, source: { text: You are Ada. } }
"), @"
    line 5: layer `soul` (agent) follows `visit` (conversation), which changes more often and would invalidate its cache
      help: move `soul` before `visit`, or set `allow_cache_unsafe: true` and see the price in `foreword explain`
    ");
}

#[test]
fn layer_id_is_unique_and_of_plain_characters() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: soul, stability: static, source: { text: a } }
  - { id: soul, stability: static, source: { text: b } }
  - { id: \"two words\", stability: static, source: { text: c } }
"), @"
    line 5: `two words` is not a valid layer id
      help: use letters, digits, `_`, `-`, `.` and `/`, at most 128
    line 4: layer id `soul` is used twice
      help: rename one of them
    ");
}

#[test]
fn layer_has_exactly_one_source() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: both, stability: agent, source: { file: SOUL.md, overlay: situation } }
  - { id: none, stability: agent, source: {} }
  - id: three
    stability: agent
    source: { text: a, generated: tools, builtin: precedence }
"), @"
    line 3: a layer has one source, not both `file` and `overlay`
      help: split it into two layers
    line 4: a layer needs a source
      help: one of `builtin`, `text`, `file`, `files`, `overlay`, `template`, `instructions`, `stored`, `generated`, `dynamic`
    line 7: a layer has one source, not both `builtin` and `text`
      help: split it into two layers
    ");
}

#[test]
fn unknown_built_in_text_is_refused_with_a_suggestion() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: rules, stability: static, source: { builtin: precedense } }
  - { id: soul, stability: agent, source: { file: SOUL.md, builtin: weather } }
"), @"
    line 3: there is no built-in text `precedense`
      help: did you mean `precedence`?
    line 4: there is no built-in text `weather`
      help: see `docs/blueprints.md` for the built-in texts
    ");
}

#[test]
fn contradictory_layer_is_refused() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: rules, authority: policy, overflow: head_tail, stability: static, source: { text: a } }
  - { id: clock, stability: conversation, source: { dynamic: runtime } }
  - { id: fixed, stability: conversation, mutable: { max_chars: 100 }, source: { text: a } }
  - { id: stored, stability: conversation, source: { stored: sovereign-6 } }
  - { id: loud, priority: 101, stability: conversation, source: { text: a } }
"), @"
    line 3: policy layer `rules` may not be cut
      help: remove `overflow`, or give the layer another `authority`
    line 4: layer `clock` is made each turn, so it can't be frozen as `conversation`
      help: set `stability: turn`
    line 5: layer `fixed`: `mutable` and a `stored` source go together
      help: give it both, or neither
    line 6: layer `stored`: `mutable` and a `stored` source go together
      help: give it both, or neither
    line 7: layer `loud`: `priority` is above 100
      help: use 0 to 100; the lowest is cut first
    ");
}

#[test]
fn layer_moving_to_a_missing_menu_is_rejected() {
    insta::assert_snapshot!(refusal("
layers:
  - { id: notes, overflow: menu, stability: agent, source: { file: NOTES.md } }
"), @"
    line 3: layer `notes` moves to the menu, but this blueprint shows none
      help: add a layer with `source: { dynamic: memory_menu }`, or use `overflow: head_tail`
    ");
}

#[test]
fn blueprint_without_layers_is_refused() {
    insta::assert_snapshot!(refusal("layers: []"), @"
    line 0: there are no layers
      help: give it at least one layer, or use a built-in blueprint
    ");
}

#[test]
fn name_with_placeholder_is_checked_later() {
    let spec: BlueprintSpec = serde_saphyr::from_str(
        "layers: [{ id: channel, stability: agent, source: { builtin: 'channel-{family}' } }]",
    )
    .unwrap();
    assert!(Blueprint::from_spec("mine", &spec).is_ok());
}
