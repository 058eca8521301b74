//! What the model is told anew each turn, and what it is told of frozen layers that drifted.

use std::sync::Arc;

use foreword_prompt::epoch::{Circumstances, Decision, Dependencies, HardDependencies, decide};
use foreword_prompt::layer::{Layer, Stability};
use foreword_prompt::prompt::Frozen;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use foreword_prompt::turn_delta::{Told, drift_notes};

use crate::scene::{Scene, layer};

/// A prompt of turn layers with these texts.
fn turn(texts: &[(&str, &str)]) -> Scene {
    Scene::layers(texts.iter().map(|(id, text)| layer(id, Stability::Turn, text)).collect())
}

/// What each of several turns adds.
fn told(turns: &[&[(&str, &str)]]) -> Vec<Option<String>> {
    let mut told = Told::default();
    let mut texts = Vec::new();
    for layers in turns {
        let delta = told.delta(&turn(layers).prompt(), &[]);
        told = delta.told;
        texts.push(delta.text);
    }
    texts
}

fn block(text: &str) -> Option<String> {
    Some(format!("<turn-context>\n{text}\n</turn-context>"))
}

#[test]
fn the_first_turn_tells_all_and_later_ones_only_what_changed() {
    let texts = told(&[
        &[("clock", "8:30"), ("state", "calm")],
        &[("clock", "8:31"), ("state", "calm")],
        &[("clock", "8:31"), ("state", "calm")],
        &[("clock", "8:31"), ("state", "busy")],
    ]);
    assert_eq!(texts, [block("8:30\n\ncalm"), block("8:31"), None, block("busy")]);
}

#[test]
fn a_layer_that_vanished_is_said_to_be_gone_once() {
    let gone = "`inbox`: nothing any more; what was said before no longer holds.";
    let texts =
        told(&[&[("inbox", "one letter"), ("clock", "8:30")], &[("clock", "8:30")], &[("clock", "8:30")]]);
    assert_eq!(texts, [block("one letter\n\n8:30"), block(gone), None]);
}

#[test]
fn notes_come_before_the_news_of_the_turn() {
    let delta = Told::default().delta(&turn(&[("clock", "8:30")]).prompt(), &["Note: look.".to_owned()]);
    assert_eq!(delta.text, block("Note: look.\n\n8:30"));
}

fn frozen(layers: &[(&str, &str)]) -> Arc<Frozen> {
    let layers = layers.iter().map(|(id, text)| layer(id, Stability::Agent, text));
    let mut scene = Scene::layers(layers.collect());
    scene.blueprint.separator = "\n\n---\n\n".into();
    scene.prompt().frozen
}

#[test]
fn drift_notes_name_what_changed_came_and_went_and_how_it_reads_now() {
    let before = frozen(&[("soul", "Calm."), ("rules", "Be kind."), ("tools", "A hammer.")]);
    let now = frozen(&[("soul", "Calm."), ("rules", "Be kinder."), ("skills", "Sailing.")]);
    assert_eq!(
        drift_notes(&before, &now),
        [
            "Note: \"rules\" has changed since this conversation began. It now reads:\n\nBe kinder.",
            "Note: \"skills\" is new. It now reads:\n\nSailing.",
            "Note: \"tools\" no longer applies.",
        ]
    );
    assert!(drift_notes(&before, &before).is_empty());
}

fn dependencies(frozen: &Frozen) -> Dependencies {
    let hard = HardDependencies {
        trust: Trust::Full,
        agent: "Assistant".into(),
        blueprint: "mine".into(),
        cwd: "/".into(),
        tools: ContentHash::of(""),
        channel_family: None,
        model_family: "offline".into(),
        personal_to: None,
    };
    Dependencies::of(frozen, hard)
}

#[test]
fn a_layer_that_only_moved_has_not_drifted() {
    let before = frozen(&[("rules", "Be kind."), ("tools", "A hammer.")]);
    let now = frozen(&[("soul", "Calm."), ("rules", "Be kind."), ("tools", "A hammer.")]);
    assert_eq!(drift_notes(&before, &now), ["Note: \"soul\" is new. It now reads:\n\nCalm."]);
    assert_eq!(drift_notes(&now, &before), ["Note: \"soul\" no longer applies."]);
    let decision = decide(Some(&dependencies(&before)), &dependencies(&now), Circumstances::default());
    assert_eq!(decision, Decision::Reuse { drifted: vec!["soul".into()] });
}

#[test]
fn a_heading_is_part_of_what_a_note_says() {
    let with = |text: &str| {
        let tools = Layer { heading: Some("## Tools".into()), ..layer("tools", Stability::Agent, text) };
        Scene::layers(vec![layer("soul", Stability::Agent, "Calm."), tools]).prompt().frozen
    };
    let notes = drift_notes(&with("A hammer."), &with("A saw."));
    assert!(notes[0].ends_with("It now reads:\n\n## Tools\n\nA saw."), "{notes:?}");
}
