//! Finds in what `memory_search` gave the lines that answer a question. Quotes and never rephrases; what is not there is
//! not there. Knows the form of a result only loosely: lines, and paths of notes above them.

use foreword_prompt::untrusted::single_line;

use super::keywords::matches;
use super::own_words::{framed_source, unframed};
use super::shown::on_one_line;

const MOST_QUOTES: usize = 3;
const QUOTE_CHARS: usize = 400;
const PATH_CHARS: usize = 120;

/// What a search found for some words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Findings {
    /// Lines that speak of all of them.
    Answer(Vec<Quote>),
    /// Lines that speak of some of them.
    Nearest(Vec<Quote>),
    /// None that speaks of any.
    Nothing,
}

/// A line of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) line: String,
    pub(super) path: String,
}

impl Findings {
    /// What `result` says about `wanted`.
    pub(super) fn of(result: &str, wanted: &[String]) -> Self {
        let scored: Vec<(usize, Quote)> =
            quotes(result).into_iter().map(|quote| (matches(&quote.line, wanted), quote)).collect();
        let best = scored.iter().map(|(score, _)| *score).max().unwrap_or(0);
        let quoted: Vec<Quote> = scored
            .into_iter()
            .filter(|(score, _)| *score == best)
            .map(|(_, quote)| quote)
            .take(MOST_QUOTES)
            .collect();
        match best {
            0 => Self::Nothing,
            all if all == wanted.len() => Self::Answer(quoted),
            _ => Self::Nearest(quoted),
        }
    }
}

/// The lines of a result that stand under a path, with the last path above each. What stands under none is the tool
/// speaking for itself: it may repeat the question, and is no answer to it.
fn quotes(result: &str) -> Vec<Quote> {
    let mut path: Option<String> = None;
    let mut found: Vec<Quote> = Vec::new();
    for line in result.lines() {
        if let Some(source) = framed_source(line) {
            path = split_heading(source).map(|(note, _)| single_line(note, PATH_CHARS));
            continue;
        }
        let mut line = unframed(line).unwrap_or_default().trim();
        if let Some((heading, rest)) = split_heading(line) {
            path = Some(single_line(heading, PATH_CHARS));
            line = rest;
        }
        let bare = line.trim_start_matches(['-', '*', '>', '#', ' ']);
        let Some(path) = path.clone().filter(|_| !bare.is_empty()) else { continue };
        let quote = Quote { line: on_one_line(bare, QUOTE_CHARS), path };
        if !found.contains(&quote) {
            found.push(quote);
        }
    }
    found
}

/// The path of a note in a line that says where words are from, and the rest of that line. The path is the first word
/// there, behind numbers and marks.
fn split_heading(line: &str) -> Option<(&str, &str)> {
    let marks = |c: char| "#*-`[](),:. ".contains(c) || c.is_ascii_digit();
    let line = line.trim_start_matches(marks);
    let end = line.find(|c: char| c.is_whitespace() || "`[](),:*".contains(c)).unwrap_or(line.len());
    let (path, rest) = line.split_at(end);
    let stores = ["private/", "shared/", "social/"];
    let is_note = path.ends_with(".md") || stores.iter().any(|store| path.starts_with(store));
    (is_note && path.len() > 3).then(|| (path, rest.trim_start_matches(marks)))
}

#[cfg(test)]
mod tests {
    use foreword_prompt::untrusted::{Marker, Origin, Untrusted, frame};

    use super::super::keywords::keywords;
    use super::*;

    const RESULT: &str = "2 snippets\n\n### private/people.md, lines 5-7 (41 tokens)\n- Carol: birthday 14 March. Loves \
                          peonies.\n- Dr. Sousa, the vet.\n\n### social/people.md, lines 5-5\n- Carol lives at number 7.";

    fn found(result: &str, question: &str) -> String {
        let shown = |quotes: Vec<Quote>| {
            let lines = quotes.iter().map(|quote| format!("{} ({})", quote.line, quote.path));
            lines.collect::<Vec<_>>().join("; ")
        };
        match Findings::of(result, &keywords(question)) {
            Findings::Answer(quotes) => format!("answer: {}", shown(quotes)),
            Findings::Nearest(quotes) => format!("nearest: {}", shown(quotes)),
            Findings::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn the_line_that_speaks_of_everything_asked_is_the_answer() {
        assert_eq!(
            found(RESULT, "What's Carol's birthday?"),
            "answer: Carol: birthday 14 March. Loves peonies. (private/people.md)"
        );
    }

    #[test]
    fn lines_that_speak_of_a_part_are_only_near() {
        assert_eq!(
            found(RESULT, "Where does Carol work?"),
            "nearest: Carol: birthday 14 March. Loves peonies. (private/people.md); \
             Carol lives at number 7. (social/people.md)"
        );
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for result in ["", "no notes speak of `eclipse`", RESULT, "2 eclipses found"] {
            assert_eq!(found(result, "When is the eclipse?"), "nothing");
        }
    }

    #[test]
    fn paths_are_seen_in_the_forms_people_write_them() {
        for line in [
            "private/people.md",
            "## private/people.md (lines 1-3)",
            "1. `private/people.md:5-7` 41 tok",
            "[private/people.md] lines 5–7",
            "- private/people.md (110 tok) — people",
        ] {
            assert_eq!(split_heading(line).map(|(path, _)| path), Some("private/people.md"), "{line}");
        }
        assert_eq!(split_heading("- Carol: see people.md"), None);
        assert_eq!(split_heading("12."), None);
    }

    #[test]
    fn a_framed_note_is_quoted_with_the_path_in_its_frame() {
        let note =
            Untrusted::new(Origin::memory("social/trip.md"), "# Trip\n- Carol flies to Lisbon in May.");
        let framed = frame(&[note], &Marker::from_random_bytes([9; 16]));
        assert_eq!(
            found(framed.as_str(), "When does Carol go to Lisbon?"),
            "nearest: Carol flies to Lisbon in May. (social/trip.md)"
        );
    }

    #[test]
    fn a_quote_may_stand_in_the_same_line_as_its_path() {
        assert_eq!(
            found("private/people.md:5: Carol: birthday 14 March.", "Carol's birthday?"),
            "answer: Carol: birthday 14 March. (private/people.md)"
        );
    }
}
