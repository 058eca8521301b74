//! Truncation: by whole lines, in whole characters, with a correct marker.

use foreword_prompt::cut::{ReadWith, Shorten, Shortened};
use foreword_prompt::layer::{FileSource, Layer, Source, Stability};
use foreword_prompt::tokens::Tokenizer;
use proptest::prelude::*;

use crate::fixture::{Fixture, layer, lines};

fn shorten(body: &str, limit: usize, path: Option<&str>) -> Option<Shortened> {
    let read_with = path.map(|path| ReadWith { path });
    Shorten { prefix: "\n\n", body, limit, least: 0, read_with, counter: Tokenizer::Estimate.get() }
        .head_tail()
}

/// Head, marker and tail of a shortened text.
fn parts(text: &str) -> (&str, &str, &str) {
    let (head, rest) = text.split_once("[…").unwrap();
    let (marker, tail) = rest.split_once("…]").unwrap();
    (head, marker, tail)
}

/// The numbers of `memory_get("notes.md", from, lines)` in a marker.
fn call(marker: &str) -> (usize, usize) {
    let (_, arguments) = marker.split_once("memory_get(\"notes.md\", ").unwrap();
    let (from, rest) = arguments.split_once(", ").unwrap();
    (from.parse().unwrap(), rest.split_once(')').unwrap().0.parse().unwrap())
}

proptest! {
    #[test]
    fn marker_offers_exactly_the_missing_lines(
        body in "([a-zé漢👩‍🚀 .]{0,30}\n){4,40}[a-z]{0,10}",
        limit in 30usize..300,
    ) {
        let Some(short) = shorten(&body, limit, Some("notes.md")) else { return Ok(()) };
        let whole = format!("\n\n{}", short.text);
        prop_assert!(Tokenizer::Estimate.get().count(&whole) <= limit);
        let (head, marker, tail) = parts(&short.text);
        let (from, count) = call(marker);
        if short.cut.first_line == 0 {
            prop_assert_eq!((from, count), (1, body.lines().count()), "cut inside a line: all of it is offered");
            prop_assert!(body.starts_with(head) && body.ends_with(tail));
            return Ok(());
        }
        prop_assert_eq!((short.cut.first_line, short.cut.lines), (from, count));
        let missing: String = body.split_inclusive('\n').skip(from - 1).take(count).collect();
        let tail = tail.strip_prefix('\n').unwrap();
        prop_assert_eq!(format!("{head}{missing}{tail}"), body);
    }

    #[test]
    fn one_huge_line_is_cut_between_characters(body in "[a-zé漢👩‍🚀 ]{200,600}", limit in 40usize..80) {
        let short = shorten(&body, limit, None).unwrap();
        let (head, marker, tail) = parts(&short.text);
        prop_assert!(body.starts_with(head) && body.ends_with(tail));
        let gone = body.chars().count() - head.chars().count() - tail.chars().count();
        prop_assert_eq!(marker.trim(), format!("{gone} characters cut here"));
    }
}

#[test]
fn head_is_the_larger_remaining_part() {
    insta::assert_snapshot!(shorten(&lines(40), 90, Some("notes.md")).unwrap().text, @r#"
    - note 1 about the harbour
    - note 2 about the harbour
    - note 3 about the harbour
    - note 4 about the harbour
    [… 35 lines cut here, about 357 tokens; read them with memory_get("notes.md", 5, 35) …]
    - note 40 about the harbour
    "#);
}

#[test]
fn reader_without_the_tool_gets_no_call() {
    let file = FileSource {
        path: "notes.md".into(),
        required: false,
        unlisted: foreword_prompt::trust::Trust::Public,
        builtin: None,
    };
    let mut notes = Layer { source: Source::File(file), ..layer("notes", Stability::Agent, "") };
    notes.fit.max_tokens = Some(100);
    let mut fixture = Fixture::layers(vec![notes]).text("notes.md", &lines(40));
    assert!(fixture.prompt().text().contains("; read them with memory_get(\"notes.md\", "));
    fixture.can_read = false;
    let text = fixture.prompt().text();
    assert!(text.contains(" lines cut here, about ") && !text.contains("memory_get"), "{text}");
}

#[test]
fn text_too_large_for_its_marker_is_not_cut() {
    assert_eq!(shorten(&lines(40), 5, None), None);
}
