//! Trust is applied first: layers above it leave no trace for the reader.

use foreword_prompt::error::PromptError;
use foreword_prompt::layer::{FileSelection, Layer, Overflow, Source, Stability};
use foreword_prompt::prompt::TurnPlacement;
use foreword_prompt::report::{Report, View};
use foreword_prompt::trust::{Trust, TrustDecision};
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixture::{Fixture, entry, layer};

const STABILITIES: [Stability; 4] =
    [Stability::Static, Stability::Agent, Stability::Conversation, Stability::Turn];

/// A layer whose id, title, heading and text all contain the mark `mark{index}x`.
fn marked(index: usize, stability: Stability, trust: Trust, overflow: Overflow) -> Layer {
    let mark = format!("mark{index}x");
    let mut layer = layer(&mark, stability, &format!("Some text.\n{mark} text\nMore text."));
    layer.title = format!("{mark} title");
    layer.heading = Some(format!("## {mark} heading"));
    layer.trust = trust;
    layer.fit.overflow = overflow;
    layer
}

prop_compose! {
    fn marked_layers()(
        parts in proptest::collection::vec(
            (select(&STABILITIES[..]), select(&Trust::ALL[..]), select(&[Overflow::HeadTail, Overflow::Menu][..])),
            1..10,
        ),
    ) -> Vec<Layer> {
        let mut layers: Vec<Layer> = parts
            .into_iter()
            .enumerate()
            .map(|(index, (stability, trust, overflow))| marked(index, stability, trust, overflow))
            .collect();
        layers.sort_by_key(|layer| layer.stability);
        layers
    }
}

fn with_menu_and_files(mut layers: Vec<Layer>, file_trusts: &[Trust]) -> Fixture {
    let files = Source::Files(FileSelection::default());
    layers.push(Layer { source: files, ..layer("files", Stability::Turn, "") });
    let menu = Source::Dynamic(foreword_prompt::layer::Dynamic::MemoryMenu);
    layers.push(Layer { source: menu, ..layer("menu", Stability::Turn, "") });
    let mut fixture = Fixture::layers(layers);
    fixture.entries = vec![entry("social/people.md", 120, "who is who")];
    for (index, trust) in file_trusts.iter().enumerate() {
        let path = format!("mark{}x.md", 100 + index);
        fixture = fixture.text(&path, &format!("mark{}x text", 100 + index)).rule(&path, *trust);
    }
    fixture
}

/// The marks of everything above `trust`, and of everything at or below it.
fn marks(fixture: &Fixture, trust: Trust) -> (Vec<String>, Vec<String>) {
    let layers = fixture.blueprint.layers.iter().filter(|layer| layer.id.as_str().starts_with("mark"));
    let files = fixture.rules.iter().map(|rule| (rule.path.trim_end_matches(".md").to_owned(), rule.trust));
    let all = layers.map(|layer| (layer.id.to_string(), layer.trust)).chain(files);
    let (seen, hidden): (Vec<_>, Vec<_>) = all.partition(|(_, needed)| trust.permits(*needed));
    let names = |some: Vec<(String, Trust)>| some.into_iter().map(|(name, _)| name).collect();
    (names(hidden), names(seen))
}

proptest! {
    #[test]
    fn layers_above_the_trust_leave_no_trace(
        layers in marked_layers(),
        file_trusts in proptest::collection::vec(select(&Trust::ALL[..]), 0..4),
        user in select(&Trust::ALL[..]),
        ceiling in select(&Trust::ALL[..]),
        budget in 60usize..400,
        placement in select(&[TurnPlacement::Message, TurnPlacement::System][..]),
    ) {
        let mut fixture = with_menu_and_files(layers, &file_trusts).budget(budget);
        fixture.trust = TrustDecision::new(user, ceiling);
        fixture.placement = placement;
        let effective = fixture.trust.effective();
        let (hidden, seen) = marks(&fixture, effective);
        let prompt = match fixture.build() {
            Ok(prompt) => prompt,
            Err(error @ (PromptError::DoesNotFit { .. } | PromptError::LayerTooLarge { .. })) => {
                prop_assert!(hidden.iter().all(|mark| !error.to_string().contains(mark.as_str())));
                return Ok(());
            }
        };
        let principal = serde_json::to_string(&Report::of(&prompt, View::Principal)).unwrap();
        for mark in &hidden {
            prop_assert!(!prompt.text().contains(mark.as_str()));
            prop_assert!(!principal.contains(mark.as_str()), "{mark} in {principal}");
        }
        for mark in &seen {
            prop_assert!(principal.contains(mark.as_str()), "{mark} is missing from {principal}");
        }
        let owner = Report::of(&prompt, View::Owner);
        let withheld: Vec<_> = owner.layers.iter().filter(|layer| layer.status == "withheld").collect();
        prop_assert_eq!(withheld.len(), hidden.len());
        for layer in withheld {
            let reason = format!("needs `{}`, this is `{effective}`", layer.trust);
            prop_assert_eq!(layer.reason.as_deref(), Some(reason.as_str()));
        }
    }
}

#[test]
fn group_member_sees_no_trace_of_owner_files() {
    let mut fixture = Fixture::built_in("gateway")
        .text("SOUL.md", "You are calm.")
        .text("TOOLS.md", "The server is called heron.")
        .text("MEMORY.md", "Alice moves in May.")
        .rule("SOUL.md", Trust::Familiar)
        .rule("TOOLS.md", Trust::Inner)
        .rule("MEMORY.md", Trust::Full);
    fixture.trust = TrustDecision::new(Trust::Inner, Trust::Familiar);
    let principal = serde_json::to_string(&fixture.report(View::Principal)).unwrap();
    assert!(principal.contains("You are calm."));
    for secret in ["heron", "TOOLS", "MEMORY", "May", "withheld"] {
        assert!(!principal.contains(secret), "{secret}");
    }
    assert_eq!(fixture.layer("workspace/TOOLS.md").reason.unwrap(), "needs `inner`, this is `familiar`");
    assert_eq!(fixture.layer("long_term/MEMORY.md").status, "withheld");
}
