//! What is found, in which order, and that changes leave no trace of what was there before.

use foreword_prompt::tokens::Counter;
use proptest::prelude::*;

use super::{Document, Found, Index, Query, Wanted, search};

fn wanted(limit: usize) -> Wanted<'static> {
    Wanted { limit, per_document: 3, snippet_tokens: 60, counter: Counter::Estimate.get() }
}

fn index(texts: &[(&str, &str)]) -> Index {
    let mut index = Index::default();
    let documents = texts.iter().map(|(path, text)| Document::new(path, "", text)).collect();
    index.change(documents, &[]);
    index
}

fn paths(found: &Found) -> Vec<&str> {
    found.hits.iter().map(|hit| &*hit.document.path).collect()
}

const HOUSE: [(&str, &str); 7] = [
    ("private/carol.md", "# Carol\n\nCarol — born 3 May, birthday. She likes peonies."),
    ("private/dates.md", "Bob's birthday is in June. The boiler is serviced in November."),
    ("private/garden.md", "Carol waters the garden, and Carol keeps the key of the garden shed."),
    ("shared/boiler.md", "# Boiler\n\nThe boiler leaks. Call the plumber about the boiler on Monday."),
    ("shared/café.md", "The café on Rua Nova closes at six."),
    ("social/tokyo.md", "東京タワーへ行きました。猫がいます。"),
    (
        "social/long.md",
        "Nothing much. The weather, the harbour, a boat, more weather, a boiler in passing, then a long \
        walk home along the river with the dog, and tea.",
    ),
];

fn check(question: &str, expected: &[&str]) {
    let index = index(&HOUSE);
    assert_eq!(paths(&search(&[&index], &Query::new(question), wanted(8))), expected, "{question}");
}

#[test]
fn the_best_come_first() {
    check("Carol's birthday", &["private/carol.md", "private/garden.md", "private/dates.md"]);
    check("what's Carol's birthday?", &["private/carol.md", "private/garden.md", "private/dates.md"]);
    check("boiler", &["shared/boiler.md", "private/dates.md", "social/long.md"]);
    check("the boilers of the plumbers", &["shared/boiler.md", "private/dates.md", "social/long.md"]);
    check("CAFE", &["shared/café.md"]);
    check("東京", &["social/tokyo.md"]);
    check("猫", &["social/tokyo.md"]);
    check("zebra", &[]);
}

#[test]
fn the_beginning_of_a_word_is_tried_when_nothing_else_is_left() {
    check("plumb", &["shared/boiler.md"]);
    check("peon", &["private/carol.md"]);
    // Two letters begin too many words.
    check("pl", &[]);
    // Where the word itself is there, longer ones are not meant.
    let index = index(&[("a.md", "the car"), ("b.md", "the carpet")]);
    assert_eq!(paths(&search(&[&index], &Query::new("car"), wanted(8))), ["a.md"]);
}

#[test]
fn words_of_path_description_and_headings_count_more() {
    let mut index = index(&[
        ("x/notes.md", "A word about tax, among many others that are here as well."),
        ("x/tax.md", "Nothing of that word, but among many others that are here as well."),
    ]);
    index.put(Document::new(
        "x/money.md",
        "tax and rent",
        "Nothing, among many others that are here as well.",
    ));
    index.put(Document::new("x/head.md", "", "# Tax\nNothing, among many others that are here as well."));
    let found = search(&[&index], &Query::new("tax"), wanted(8));
    assert_eq!(paths(&found), ["x/money.md", "x/tax.md", "x/head.md", "x/notes.md"]);
}

#[test]
fn equals_come_by_path_and_line_and_not_too_many_from_one_text() {
    let item = format!("- tea {}\n", "word ".repeat(70));
    let (six, one) = (item.repeat(6), item.clone());
    let index = index(&[("b.md", &six), ("c.md", &one), ("a.md", &one)]);
    let found = search(&[&index], &Query::new("tea"), wanted(8));
    let lines: Vec<_> = found.hits.iter().map(|hit| (&*hit.document.path, hit.lines.0)).collect();
    assert_eq!(lines, [("a.md", 1), ("b.md", 1), ("b.md", 2), ("b.md", 3), ("c.md", 1)]);
    assert_eq!(found.matches, 8);
    assert_eq!(paths(&search(&[&index], &Query::new("tea"), wanted(2))), ["a.md", "b.md"]);
}

#[test]
fn a_text_that_has_all_the_best_places_does_not_crowd_out_the_others() {
    let flood = format!("- tea tea tea {}\n", "word ".repeat(70)).repeat(500);
    let faint = format!("- tea {}\n", "word ".repeat(90));
    let index = index(&[("a.md", &flood), ("b.md", &faint), ("c.md", &faint)]);
    assert_eq!(
        paths(&search(&[&index], &Query::new("tea"), wanted(8))),
        ["a.md", "a.md", "a.md", "b.md", "c.md"]
    );
    assert_eq!(search(&[&index], &Query::new("tea"), wanted(0)).matches, 502);
    assert_eq!(search(&[&index], &Query::new("tea"), wanted(usize::MAX)).hits.len(), 5);
}

#[test]
fn a_text_without_body_is_found_by_its_name() {
    let index = index(&[("private/passport.md", "")]);
    let found = search(&[&index], &Query::new("passport"), wanted(8));
    assert_eq!((found.hits[0].lines, found.hits[0].snippet.as_str()), ((1, 1), ""));
}

/// Everything about a search that could tell one corpus from another.
fn told(indexes: &[&Index], question: &str) -> (Vec<String>, usize) {
    let found = search(indexes, &Query::new(question), wanted(8));
    let hit = |hit: &super::Hit| {
        let score = hit.score.to_bits();
        format!("{} {:?} {} {score:x}", hit.document.path, hit.lines, hit.snippet)
    };
    (found.hits.iter().map(hit).collect(), found.matches)
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "tea", "carol", "birthday", "boiler", "boil", "garden", "猫が", "\n\n", "# ",
    ]);
    prop::collection::vec(word, 0..150).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_index_that_was_changed_is_the_index_that_was_never_different(
        changes in prop::collection::vec((0..6_u8, prop::option::of(text())), 1..30),
        question in text(),
    ) {
        let mut changed = Index::default();
        let mut now = std::collections::BTreeMap::new();
        for (name, text) in changes {
            let path = format!("{name}.md");
            match text {
                Some(text) => {
                    changed.put(Document::new(&path, "about tea", &text));
                    now.insert(path, text);
                }
                None => {
                    changed.remove(&path);
                    now.remove(&path);
                }
            }
        }
        let mut fresh = Index::default();
        fresh.change(now.iter().map(|(path, text)| Document::new(path, "about tea", text)).collect(), &[]);
        prop_assert_eq!(
            (changed.documents(), changed.chunks(), changed.terms(), changed.words()),
            (fresh.documents(), fresh.chunks(), fresh.terms(), fresh.words())
        );
        prop_assert_eq!(told(&[&changed], &question), told(&[&fresh], &question));
        for word in ["tea", "bo", "boi", "猫"] {
            prop_assert_eq!(told(&[&changed], word), told(&[&fresh], word));
        }
    }

    #[test]
    fn texts_on_several_shelves_rank_as_if_they_were_on_one(
        texts in prop::collection::vec((0..3_usize, text()), 0..20),
        question in text(),
    ) {
        let mut one = Index::default();
        let mut several = [Index::default(), Index::default(), Index::default()];
        for (number, (shelf, text)) in texts.iter().enumerate() {
            let document = Document::new(&format!("{number}.md"), "", text);
            one.put(document.clone());
            several[*shelf].put(document);
        }
        prop_assert_eq!(told(&several.each_ref(), &question), told(&[&one], &question));
    }
}
