//! What the model is told anew each turn, and what it is told of frozen layers that drifted.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::epoch::{Circumstances, Decision, Dependencies, HardDependencies, decide};
use foreword_prompt::layer::{Layer, Stability};
use foreword_prompt::prompt::Frozen;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use foreword_prompt::turn_delta::{FrozenWords, Told, drift_notes};
use proptest::prelude::*;
use proptest::sample::select;

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
        session_instructions: None,
        context: None,
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

/// The layers of an epoch as a store gives them back.
fn stored(frozen: &Frozen) -> impl Iterator<Item = FrozenWords<'_>> {
    frozen
        .segments
        .iter()
        .map(|segment| (segment.layer.id.as_str(), segment.layer.title.as_str(), frozen.words(segment)))
}

/// What is noted in each of several turns of one epoch, which begins with the first.
fn noted(turns: &[&[(&str, &str)]]) -> Vec<Vec<String>> {
    let epoch = frozen(turns[0]);
    let mut told = Told::default();
    let mut all = Vec::new();
    for layers in turns {
        let (notes, then) = told.notes(stored(&epoch), &frozen(layers));
        told = then;
        all.push(notes);
    }
    all
}

#[test]
fn a_layer_that_drifted_is_noted_once_and_again_when_it_is_edited_back() {
    let notes = noted(&[
        &[("soul", "Calm.")],
        &[("soul", "Brave.")],
        &[("soul", "Brave.")],
        &[("soul", "Calm.")],
        &[("soul", "Calm.")],
    ]);
    let brave =
        "Note: \"soul\" has changed since this conversation began. It now reads:\n\nBrave.".to_owned();
    let calm = "Note: \"soul\" has changed again. It now reads:\n\nCalm.".to_owned();
    assert_eq!(notes, [vec![], vec![brave], vec![], vec![calm], vec![]]);
}

#[test]
fn a_layer_that_went_or_came_is_noted_once() {
    let notes = noted(&[
        &[("soul", "Calm.")],
        &[("skills", "Sailing.")],
        &[("skills", "Sailing.")],
        &[("soul", "Calm.")],
        &[("soul", "Calm.")],
    ]);
    let note = |text: &str| format!("Note: {text}");
    assert_eq!(
        notes,
        [
            vec![],
            vec![note("\"skills\" is new. It now reads:\n\nSailing."), note("\"soul\" no longer applies.")],
            vec![],
            vec![
                note("\"soul\" applies again. It now reads:\n\nCalm."),
                note("\"skills\" no longer applies.")
            ],
            vec![],
        ]
    );
}

#[test]
fn a_new_epoch_does_not_hide_what_an_old_note_still_says() {
    let (brave, calm) = (frozen(&[("soul", "Brave.")]), frozen(&[("soul", "Calm.")]));
    let (_, told) = Told::default().notes(stored(&calm), &brave);
    let (notes, told) = told.notes(stored(&calm), &calm);
    assert_eq!(notes, ["Note: \"soul\" has changed again. It now reads:\n\nCalm."]);
    assert!(told.notes(stored(&calm), &calm).0.is_empty());
    // The history with the notes in it is gone, and what was told with them.
    assert!(Told::default().notes(stored(&calm), &calm).0.is_empty());
}

#[test]
fn what_was_told_is_read_back_as_it_was_stored() {
    let delta = Told::default().delta(&turn(&[("clock", "8:30")]).prompt(), &[]);
    let (_, told) = delta.told.notes(stored(&frozen(&[("soul", "Calm.")])), &frozen(&[]));
    let written = serde_json::to_string(&told).unwrap();
    let clock = ContentHash::of("8:30");
    assert_eq!(written, format!(r#"{{"turn":{{"clock":"{clock}"}},"notes":{{"soul":null}}}}"#));
    assert_eq!(serde_json::from_str::<Told>(&written).unwrap(), told);
}

/// Layers with words, of which some are there at any time.
fn any_layers() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let words = select(vec!["", "Calm.", "Brave.", "Wise.\n\nAnd slow."]);
    proptest::collection::vec(words, 3).prop_map(|words| {
        let layers = ["soul", "rules", "skills"].into_iter().zip(words);
        layers.filter(|(_, words)| !words.is_empty()).collect()
    })
}

/// What a model believes of each layer that has read the system prompt and then these notes.
fn believed(epoch: &[(&'static str, &'static str)], notes: &[String]) -> BTreeMap<String, String> {
    let mut believed: BTreeMap<String, String> =
        epoch.iter().map(|(id, words)| ((*id).to_owned(), (*words).to_owned())).collect();
    for note in notes {
        let (head, words) = note.split_once("\n\n").unwrap_or((note, ""));
        let id = head.split('"').nth(1).unwrap().to_owned();
        match head.ends_with("no longer applies.") {
            true => drop(believed.remove(&id)),
            false => drop(believed.insert(id, words.to_owned())),
        }
    }
    believed
}

proptest! {
    #[test]
    fn after_any_edits_the_model_believes_what_is_written_now(
        edits in proptest::collection::vec((any_layers(), any::<bool>(), any::<bool>()), 1..12),
    ) {
        let mut epoch = edits[0].0.clone();
        let mut told = Told::default();
        let mut notes: Vec<String> = Vec::new();
        for (now, opens_an_epoch, loses_its_history) in edits {
            if opens_an_epoch {
                epoch.clone_from(&now);
                if loses_its_history {
                    (told, notes) = (Told::default(), Vec::new());
                }
            }
            let (new, then) = told.notes(stored(&frozen(&epoch)), &frozen(&now));
            let news: Told = serde_json::from_str(&serde_json::to_string(&then.since(&told)).unwrap()).unwrap();
            prop_assert_eq!(told.clone().then(&news), then.clone());
            told = then;
            notes.extend(new);
            let expected = now.iter().map(|(id, words)| ((*id).to_owned(), (*words).to_owned()));
            prop_assert_eq!(believed(&epoch, &notes), expected.collect::<BTreeMap<_, _>>());
            let (again, _) = told.notes(stored(&frozen(&epoch)), &frozen(&now));
            prop_assert!(again.is_empty(), "{:?}", again);
        }
    }

    #[test]
    fn what_turns_keep_adds_up_to_what_was_told(turns in proptest::collection::vec(any_layers(), 0..8)) {
        let (mut told, mut kept) = (Told::default(), Told::default());
        for layers in turns {
            let delta = told.delta(&turn(&layers).prompt(), &[]);
            kept = kept.then(&delta.told.since(&told));
            prop_assert_eq!(delta.text.is_some(), delta.told != told);
            told = delta.told;
            prop_assert_eq!(&kept, &told);
        }
    }
}
