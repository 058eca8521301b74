//! Tests of matching and ranking, and that removed documents leave no trace.

use foreword_prompt::tokens::Tokenizer;
use proptest::prelude::*;

use super::{Document, Index, Query, SearchLimits, SearchResults, search};

fn wanted(limit: usize) -> SearchLimits<'static> {
    SearchLimits { limit, per_document: 3, snippet_tokens: 60, counter: Tokenizer::Estimate.get() }
}

fn index(texts: &[(&str, &str)]) -> Index {
    let mut index = Index::default();
    let documents = texts.iter().map(|(path, text)| Document::new(path, "", text)).collect();
    index.change(documents, &[]);
    index
}

fn paths(found: &SearchResults) -> Vec<&str> {
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
fn best_matches_are_first() {
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
fn prefixes_match_only_without_an_exact_match() {
    check("plumb", &["shared/boiler.md"]);
    check("peon", &["private/carol.md"]);
    // Two characters are too short for a prefix.
    check("pl", &[]);
    // If the word itself occurs, it is not treated as a prefix.
    let index = index(&[("a.md", "the car"), ("b.md", "the carpet")]);
    assert_eq!(paths(&search(&[&index], &Query::new("car"), wanted(8))), ["a.md"]);
}

#[test]
fn path_description_and_headings_weigh_more() {
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
fn ties_are_ordered_and_limited_per_document() {
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
fn one_document_does_not_crowd_out_others() {
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
fn documents_without_body_are_found_by_name() {
    let index = index(&[("private/passport.md", "")]);
    let found = search(&[&index], &Query::new("passport"), wanted(8));
    assert_eq!((found.hits[0].lines, found.hits[0].snippet.as_str()), ((1, 1), ""));
}

/// Everything in a result that could reveal a difference between two corpora.
fn fingerprint(indexes: &[&Index], question: &str) -> (Vec<String>, usize) {
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
    fn updated_index_equals_a_fresh_index(
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
            (changed.documents(), changed.chunks(), changed.terms(), changed.total_words()),
            (fresh.documents(), fresh.chunks(), fresh.terms(), fresh.total_words())
        );
        prop_assert_eq!(fingerprint(&[&changed], &question), fingerprint(&[&fresh], &question));
        for word in ["tea", "bo", "boi", "猫"] {
            prop_assert_eq!(fingerprint(&[&changed], word), fingerprint(&[&fresh], word));
        }
    }

    #[test]
    fn ranking_does_not_depend_on_the_split_into_indexes(
        texts in prop::collection::vec((0..3_usize, text()), 0..20),
        question in text(),
    ) {
        let mut one = Index::default();
        let mut several = [Index::default(), Index::default(), Index::default()];
        for (number, (index, text)) in texts.iter().enumerate() {
            let document = Document::new(&format!("{number}.md"), "", text);
            one.put(document.clone());
            several[*index].put(document);
        }
        prop_assert_eq!(fingerprint(&several.each_ref(), &question), fingerprint(&[&one], &question));
    }
}
