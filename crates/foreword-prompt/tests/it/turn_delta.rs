//! The turn context: only changes, and notes about changed frozen layers.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::epoch::{Decision, Dependencies, EpochTriggers, HardDependencies, decide};
use foreword_prompt::layer::{Layer, Stability};
use foreword_prompt::prompt::Frozen;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use foreword_prompt::turn_delta::{Announced, FrozenText, drift_notes};
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixture::{Fixture, layer};

/// A prompt of turn layers with these texts.
fn turn(texts: &[(&str, &str)]) -> Fixture {
    Fixture::layers(texts.iter().map(|(id, text)| layer(id, Stability::Turn, text)).collect())
}

/// The addition of each of several turns.
fn announced(turns: &[&[(&str, &str)]]) -> Vec<Option<String>> {
    let mut announced = Announced::default();
    let mut texts = Vec::new();
    for layers in turns {
        let delta = announced.delta(&turn(layers).prompt(), &[]);
        announced = delta.announced;
        texts.push(delta.text);
    }
    texts
}

fn block(text: &str) -> Option<String> {
    Some(format!("<turn-context>\n{text}\n</turn-context>"))
}

#[test]
fn first_turn_sends_all_and_later_turns_send_changes() {
    let texts = announced(&[
        &[("clock", "8:30"), ("state", "calm")],
        &[("clock", "8:31"), ("state", "calm")],
        &[("clock", "8:31"), ("state", "calm")],
        &[("clock", "8:31"), ("state", "busy")],
    ]);
    assert_eq!(texts, [block("8:30\n\ncalm"), block("8:31"), None, block("busy")]);
}

#[test]
fn removed_layer_is_announced_once() {
    let gone = "`inbox`: removed; its earlier content no longer applies.";
    let texts = announced(&[
        &[("inbox", "one letter"), ("clock", "8:30")],
        &[("clock", "8:30")],
        &[("clock", "8:30")],
    ]);
    assert_eq!(texts, [block("one letter\n\n8:30"), block(gone), None]);
}

#[test]
fn notes_precede_the_turn_layers() {
    let delta = Announced::default().delta(&turn(&[("clock", "8:30")]).prompt(), &["Note: look.".to_owned()]);
    assert_eq!(delta.text, block("Note: look.\n\n8:30"));
}

fn frozen(layers: &[(&str, &str)]) -> Arc<Frozen> {
    let layers = layers.iter().map(|(id, text)| layer(id, Stability::Agent, text));
    let mut fixture = Fixture::layers(layers.collect());
    fixture.blueprint.separator = "\n\n---\n\n".into();
    fixture.prompt().frozen
}

#[test]
fn drift_notes_name_changed_new_and_removed_layers() {
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
fn moved_layer_has_not_drifted() {
    let before = frozen(&[("rules", "Be kind."), ("tools", "A hammer.")]);
    let now = frozen(&[("soul", "Calm."), ("rules", "Be kind."), ("tools", "A hammer.")]);
    assert_eq!(drift_notes(&before, &now), ["Note: \"soul\" is new. It now reads:\n\nCalm."]);
    assert_eq!(drift_notes(&now, &before), ["Note: \"soul\" no longer applies."]);
    let decision = decide(Some(&dependencies(&before)), &dependencies(&now), EpochTriggers::default());
    assert_eq!(decision, Decision::Reuse { drifted: vec!["soul".into()] });
}

#[test]
fn drift_note_includes_the_heading() {
    let with = |text: &str| {
        let tools = Layer { heading: Some("## Tools".into()), ..layer("tools", Stability::Agent, text) };
        Fixture::layers(vec![layer("soul", Stability::Agent, "Calm."), tools]).prompt().frozen
    };
    let notes = drift_notes(&with("A hammer."), &with("A saw."));
    assert!(notes[0].ends_with("It now reads:\n\n## Tools\n\nA saw."), "{notes:?}");
}

/// The layers of an epoch as returned by a store.
fn stored(frozen: &Frozen) -> impl Iterator<Item = FrozenText<'_>> {
    frozen
        .segments
        .iter()
        .map(|segment| (segment.layer.id.as_str(), segment.layer.title.as_str(), frozen.text_of(segment)))
}

/// The notes in each of several turns of one epoch, which starts with the first.
fn noted(turns: &[&[(&str, &str)]]) -> Vec<Vec<String>> {
    let epoch = frozen(turns[0]);
    let mut announced = Announced::default();
    let mut all = Vec::new();
    for layers in turns {
        let (notes, then) = announced.notes(stored(&epoch), &frozen(layers));
        announced = then;
        all.push(notes);
    }
    all
}

#[test]
fn changed_layer_is_noted_once_per_change() {
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
fn added_or_removed_layer_is_noted_once() {
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
fn new_epoch_corrects_an_old_note() {
    let (brave, calm) = (frozen(&[("soul", "Brave.")]), frozen(&[("soul", "Calm.")]));
    let (_, announced) = Announced::default().notes(stored(&calm), &brave);
    let (notes, announced) = announced.notes(stored(&calm), &calm);
    assert_eq!(notes, ["Note: \"soul\" has changed again. It now reads:\n\nCalm."]);
    assert!(announced.notes(stored(&calm), &calm).0.is_empty());
    // The history with the notes is gone, and so is their announcement.
    assert!(Announced::default().notes(stored(&calm), &calm).0.is_empty());
}

#[test]
fn announced_state_survives_storage() {
    let delta = Announced::default().delta(&turn(&[("clock", "8:30")]).prompt(), &[]);
    let (_, announced) = delta.announced.notes(stored(&frozen(&[("soul", "Calm.")])), &frozen(&[]));
    let written = serde_json::to_string(&announced).unwrap();
    let clock = ContentHash::of("8:30");
    assert_eq!(written, format!(r#"{{"turn":{{"clock":"{clock}"}},"notes":{{"soul":null}}}}"#));
    assert_eq!(serde_json::from_str::<Announced>(&written).unwrap(), announced);
}

/// Layers with texts, some of which are present at any time.
fn any_layers() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let words = select(vec!["", "Calm.", "Brave.", "Wise.\n\nAnd slow."]);
    proptest::collection::vec(words, 3).prop_map(|words| {
        let layers = ["soul", "rules", "skills"].into_iter().zip(words);
        layers.filter(|(_, words)| !words.is_empty()).collect()
    })
}

/// The state of each layer for a model that has read the system prompt and these notes.
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
    fn announced_text_equals_current_text_after_any_edits(
        edits in proptest::collection::vec((any_layers(), any::<bool>(), any::<bool>()), 1..12),
    ) {
        let mut epoch = edits[0].0.clone();
        let mut announced = Announced::default();
        let mut notes: Vec<String> = Vec::new();
        for (now, opens_an_epoch, loses_its_history) in edits {
            if opens_an_epoch {
                epoch.clone_from(&now);
                if loses_its_history {
                    (announced, notes) = (Announced::default(), Vec::new());
                }
            }
            let (new, then) = announced.notes(stored(&frozen(&epoch)), &frozen(&now));
            let news: Announced = serde_json::from_str(&serde_json::to_string(&then.since(&announced)).unwrap()).unwrap();
            prop_assert_eq!(announced.clone().then(&news), then.clone());
            announced = then;
            notes.extend(new);
            let expected = now.iter().map(|(id, words)| ((*id).to_owned(), (*words).to_owned()));
            prop_assert_eq!(believed(&epoch, &notes), expected.collect::<BTreeMap<_, _>>());
            let (again, _) = announced.notes(stored(&frozen(&epoch)), &frozen(&now));
            prop_assert!(again.is_empty(), "{:?}", again);
        }
    }

    #[test]
    fn stored_differences_add_up_to_the_state(turns in proptest::collection::vec(any_layers(), 0..8)) {
        let (mut announced, mut kept) = (Announced::default(), Announced::default());
        for layers in turns {
            let delta = announced.delta(&turn(&layers).prompt(), &[]);
            kept = kept.then(&delta.announced.since(&announced));
            prop_assert_eq!(delta.text.is_some(), delta.announced != announced);
            announced = delta.announced;
            prop_assert_eq!(&kept, &announced);
        }
    }
}
