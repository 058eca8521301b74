//! Time affects only the turn context.

use foreword_prompt::layer::{Dynamic, Layer, Source, Stability};
use foreword_prompt::occasion::{FormattedTime, Occasion};
use foreword_prompt::prompt::{Prompt, TurnPlacement};
use foreword_prompt::trust::Trust;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixture::{Fixture, entry, formatted_time, layer, lines};

prop_compose! {
    fn any_moment()(
        weekday in select(vec!["Monday", "Wednesday", "Saturday", "Donnerstag, früh"]),
        date in "20[0-9]{2}-[01][0-9]-[0-3][0-9]",
        time in "[0-2]?[0-9]:[0-5][0-9]",
    ) -> FormattedTime {
        formatted_time(weekday, &date, &time)
    }
}

fn gateway() -> Fixture {
    let mut fixture = Fixture::built_in("gateway")
        .text("SOUL.md", "You are calm.")
        .text("NOTES.md", &lines(40))
        .rule("NOTES.md", Trust::Familiar);
    fixture.entries = (0..12).map(|index| entry(&format!("social/{index}.md"), 900, "a note")).collect();
    fixture
}

fn at(fixture: &Fixture, now: FormattedTime) -> Fixture {
    let mut fixture = fixture.clone();
    fixture.occasion.now = now;
    fixture
}

/// `prompt` of `fixture` with a new time, by the shortcut.
fn moved(prompt: &Prompt, fixture: &Fixture) -> Option<Prompt> {
    prompt.at_time(&fixture.occasion, fixture.counter.get())
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
        let mut fixture = at(&gateway(), one).budget(budget);
        fixture.budget.window = window;
        fixture.budget.history = history;
        fixture.placement = if system { TurnPlacement::System } else { TurnPlacement::Message };
        let Ok(before) = fixture.build() else { return Ok(()) };
        let fixture = at(&fixture, other);
        if let Some(after) = moved(&before, &fixture) {
            prop_assert_eq!(Ok(after), fixture.build());
        }
    }
}

#[test]
fn clock_change_needs_no_new_assembly() {
    let fixture = at(&gateway(), formatted_time("Monday", "2026-11-16", "08:30"));
    let before = fixture.prompt();
    let later = at(&fixture, formatted_time("Monday", "2026-11-16", "08:31"));
    let after = moved(&before, &later).unwrap();
    assert!(after.turn_context().unwrap().contains("- Time: Monday, 2026-11-16 08:31 (UTC)"));
    assert_eq!(after, later.prompt());
}

#[test]
fn every_clock_of_a_blueprint_is_set() {
    let fixture =
        Fixture::layers(vec![clock("here"), layer("words", Stability::Turn, "Then."), clock("again")]);
    let later = at(&fixture, formatted_time("Monday", "2026-11-16", "09:41"));
    assert_eq!(moved(&fixture.prompt(), &later), Some(later.prompt()));
}

#[test]
fn truncated_clock_requires_a_new_build() {
    let mut cut = clock("clock");
    cut.fit.max_tokens = Some(30);
    let fixture = Fixture::layers(vec![cut]);
    assert_eq!(fixture.layer("clock").status, "cut");
    let later = at(&fixture, formatted_time("Monday", "2026-11-16", "09:41"));
    if let Some(after) = moved(&fixture.prompt(), &later) {
        assert_eq!(after, later.prompt());
    }
}

#[test]
fn prompt_without_clock_is_the_same_at_any_time() {
    let fixture = Fixture::layers(vec![layer("one", Stability::Agent, "Be kind.")]);
    let occasion: Occasion = at(&fixture, formatted_time("Sunday", "2027-01-03", "23:59")).occasion;
    assert_eq!(fixture.prompt().at_time(&occasion, fixture.counter.get()), Some(fixture.prompt()));
}
