//! Time affects only the turn context.

use foreword_prompt::layer::{Dynamic, Layer, Source, Stability};
use foreword_prompt::occasion::{Moment, Occasion};
use foreword_prompt::prompt::{Prompt, TurnPlacement};
use foreword_prompt::trust::Trust;
use proptest::prelude::*;
use proptest::sample::select;

use crate::scene::{Scene, entry, layer, lines, moment};

prop_compose! {
    fn any_moment()(
        weekday in select(vec!["Monday", "Wednesday", "Saturday", "Donnerstag, früh"]),
        date in "20[0-9]{2}-[01][0-9]-[0-3][0-9]",
        time in "[0-2]?[0-9]:[0-5][0-9]",
    ) -> Moment {
        moment(weekday, &date, &time)
    }
}

fn gateway() -> Scene {
    let mut scene = Scene::built_in("gateway")
        .text("SOUL.md", "You are calm.")
        .text("NOTES.md", &lines(40))
        .rule("NOTES.md", Trust::Familiar);
    scene.entries = (0..12).map(|index| entry(&format!("social/{index}.md"), 900, "a note")).collect();
    scene
}

fn at(scene: &Scene, now: Moment) -> Scene {
    let mut scene = scene.clone();
    scene.occasion.now = now;
    scene
}

/// `prompt` of `scene` with a new time, by the shortcut.
fn moved(prompt: &Prompt, scene: &Scene) -> Option<Prompt> {
    prompt.at_time(&scene.occasion, scene.counter.get())
}

fn clock(id: &str) -> Layer {
    Layer { source: Source::Dynamic(Dynamic::Runtime), ..layer(id, Stability::Turn, "") }
}

proptest! {
    #[test]
    fn frozen_bytes_do_not_change_with_the_clock(one in any_moment(), other in any_moment()) {
        let (one, other) = (at(&gateway(), one).prompt(), at(&gateway(), other).prompt());
        prop_assert_eq!(&one.frozen, &other.frozen);
        prop_assert_eq!(one.frozen.fingerprint, other.frozen.fingerprint);
    }

    #[test]
    fn setting_the_clock_equals_a_new_build(
        one in any_moment(),
        other in any_moment(),
        budget in 500usize..1_300,
        window in proptest::option::of(500usize..1_300),
        history in 0usize..600,
        system in any::<bool>(),
    ) {
        let mut scene = at(&gateway(), one).budget(budget);
        scene.budget.window = window;
        scene.budget.history = history;
        scene.placement = if system { TurnPlacement::System } else { TurnPlacement::Message };
        let Ok(before) = scene.build() else { return Ok(()) };
        let scene = at(&scene, other);
        if let Some(after) = moved(&before, &scene) {
            prop_assert_eq!(Ok(after), scene.build());
        }
    }
}

#[test]
fn clock_change_needs_no_new_assembly() {
    let scene = at(&gateway(), moment("Monday", "2026-11-16", "08:30"));
    let before = scene.prompt();
    let later = at(&scene, moment("Monday", "2026-11-16", "08:31"));
    let after = moved(&before, &later).unwrap();
    assert!(after.turn_context().unwrap().contains("- Time: Monday, 2026-11-16 08:31 (UTC)"));
    assert_eq!(after, later.prompt());
}

#[test]
fn every_clock_of_a_blueprint_is_set() {
    let scene = Scene::layers(vec![clock("here"), layer("words", Stability::Turn, "Then."), clock("again")]);
    let later = at(&scene, moment("Monday", "2026-11-16", "09:41"));
    assert_eq!(moved(&scene.prompt(), &later), Some(later.prompt()));
}

#[test]
fn truncated_clock_requires_a_new_build() {
    let mut cut = clock("clock");
    cut.fit.max_tokens = Some(30);
    let scene = Scene::layers(vec![cut]);
    assert_eq!(scene.layer("clock").status, "cut");
    let later = at(&scene, moment("Monday", "2026-11-16", "09:41"));
    if let Some(after) = moved(&scene.prompt(), &later) {
        assert_eq!(after, later.prompt());
    }
}

#[test]
fn prompt_without_clock_is_the_same_at_any_time() {
    let scene = Scene::layers(vec![layer("one", Stability::Agent, "Be kind.")]);
    let occasion: Occasion = at(&scene, moment("Sunday", "2027-01-03", "23:59")).occasion;
    assert_eq!(scene.prompt().at_time(&occasion, scene.counter.get()), Some(scene.prompt()));
}
