//! The memory menu in a prompt: which layers move there, their cost, and how the menu is shortened.

use foreword_prompt::layer::{Dynamic, FileSource, Layer, Overflow, Source, Stability};
use foreword_prompt::report::View;
use foreword_prompt::trust::Trust;

use crate::fixture::{Fixture, entry, layer, lines};

fn menu() -> Layer {
    Layer { source: Source::Dynamic(Dynamic::MemoryMenu), ..layer("menu", Stability::Turn, "") }
}

fn file(path: &str, priority: u8) -> Layer {
    let source = Source::File(FileSource {
        path: path.into(),
        required: false,
        unlisted: foreword_prompt::trust::Trust::Public,
        builtin: None,
    });
    let mut one = Layer { source, ..layer(path, Stability::Agent, "") };
    (one.fit.overflow, one.fit.priority) = (Overflow::Menu, priority);
    one
}

fn with_entries(layers: Vec<Layer>, count: usize) -> Fixture {
    let mut fixture = Fixture::layers(layers);
    fixture.entries = (1..=count).map(|index| entry(&format!("social/{index}.md"), 40, "a note")).collect();
    fixture
}

#[test]
fn oversized_layer_becomes_a_priced_menu_line() {
    let fixture =
        with_entries(vec![file("NOTES.md", 10), menu()], 1).text("NOTES.md", &lines(90)).budget(200);
    let notes = fixture.layer("NOTES.md");
    let report = fixture.report(View::Principal);
    assert_eq!((notes.status, notes.range), ("menu", [report.text.len(), report.text.len()]));
    assert!(report.text.contains(&format!("\n- NOTES.md ({} tok)\n- social/1.md (40 tok)", notes.tokens)));
    assert!(!report.text.contains("harbour"));
    assert_eq!(report.warnings[0].code, "moved_to_menu");
}

#[test]
fn gateway_lists_long_term_memory_in_the_menu_only() {
    let fixture =
        Fixture::built_in("gateway").text("MEMORY.md", "Alice moves in May.").rule("MEMORY.md", Trust::Full);
    let report = fixture.report(View::Principal);
    assert_eq!(fixture.layer("long_term/MEMORY.md").status, "menu");
    assert!(report.text.contains("\n- MEMORY.md (") && !report.text.contains("Alice moves"));
    assert!(report.warnings.iter().all(|warning| warning.code != "moved_to_menu"), "it is meant to be there");
}

#[test]
fn menu_over_its_limit_counts_the_omitted_files() {
    let mut short = menu();
    short.fit.max_tokens = Some(120);
    let fixture = with_entries(vec![short], 40);
    assert_eq!(fixture.layer("menu").status, "cut");
    let text = fixture.prompt().text();
    let shown = text.matches("social/").count();
    assert!(shown > 1, "{text}");
    assert!(
        text.contains(&format!("\n- … and {} more files, which memory_search(query) finds\n", 40 - shown))
    );
}

#[test]
fn empty_menu_is_omitted() {
    let fixture = with_entries(vec![layer("one", Stability::Agent, "Be kind."), menu()], 0);
    assert_eq!(fixture.prompt().text(), "Be kind.");
    assert_eq!(fixture.layer("menu").status, "empty");
}

#[test]
fn menu_at_its_limit_is_still_cut_first() {
    let mut short = menu();
    (short.fit.max_tokens, short.fit.priority) = (Some(300), 10);
    let fixture = with_entries(vec![layer("story", Stability::Agent, &lines(30)), short], 60).budget(450);
    assert_eq!(fixture.layer("story").status, "included");
    assert_eq!(fixture.layer("menu").status, "cut");
}

#[test]
fn menu_grown_by_a_moved_layer_can_shrink() {
    let mut first = menu();
    first.fit.priority = 10;
    let layers = vec![file("NOTES.md", 50), layer("story", Stability::Agent, &lines(10)), first];
    let mut fixture = with_entries(layers, 60).text("NOTES.md", &lines(40)).budget(330);
    fixture.blueprint.layers[1].fit.overflow = Overflow::Reject;
    assert_eq!(fixture.layer("NOTES.md").status, "menu");
    assert!(fixture.prompt().text().contains("- NOTES.md ("));
}

#[test]
fn layer_moved_to_a_missing_menu_is_reported() {
    let hidden_menu = Layer { trust: Trust::Inner, ..menu() };
    let clock = Layer { source: Source::Dynamic(Dynamic::Runtime), ..layer("clock", Stability::Turn, "") };
    let layers = vec![file("NOTES.md", 10), clock, hidden_menu];
    let fixture = with_entries(layers, 1).text("NOTES.md", &lines(90)).trust(Trust::Familiar).budget(200);
    let warnings = fixture.report(View::Principal).warnings;
    let left_out = warnings.iter().find(|warning| warning.code == "left_out").unwrap();
    assert_eq!(left_out.message, "`NOTES.md` did not fit, and there is no menu here to list it in");
}

#[test]
fn unloadable_menu_line_is_marked() {
    let mut words = layer("words", Stability::Agent, &lines(90));
    words.fit.overflow = Overflow::Menu;
    let text = with_entries(vec![words, menu()], 1).budget(200).prompt().text();
    assert!(text.contains(" tok) — did not fit and can't be loaded\n- social/1.md"), "{text}");
}

#[test]
fn long_menu_shrinks_before_more_important_layers() {
    let mut long = menu();
    (long.fit.max_tokens, long.fit.priority) = (Some(2_000), 40);
    let layers = vec![layer("story", Stability::Agent, &lines(100)), file("NOTES.md", 50), long];
    let fixture = with_entries(layers, 1_500).text("NOTES.md", &lines(20)).budget(2_000);
    let status = |id: &str| fixture.layer(id).status;
    assert_eq!((status("story"), status("NOTES.md"), status("menu")), ("included", "included", "cut"));
    assert!(fixture.report(View::Principal).tokens.total > 1_950, "no more is cut than has to be");
}

#[test]
fn long_menu_grown_by_moved_layers_shrinks_again() {
    let mut long = menu();
    (long.fit.max_tokens, long.fit.priority) = (Some(2_000), 10);
    let mut story = layer("story", Stability::Agent, &lines(20));
    story.fit.overflow = Overflow::Reject;
    let layers = vec![file("NOTES.md", 50), file("PLANS.md", 60), story, long];
    let fixture =
        with_entries(layers, 1_500).text("NOTES.md", &lines(40)).text("PLANS.md", &lines(40)).budget(400);
    assert_eq!((fixture.layer("NOTES.md").status, fixture.layer("PLANS.md").status), ("menu", "menu"));
    assert!(fixture.prompt().text().contains("\n- NOTES.md ("));
}
