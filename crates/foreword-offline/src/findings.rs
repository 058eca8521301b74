//! Finds the lines of a `memory_search` result that answer a question. Quotes and never rephrases. Expects lines of
//! notes below their path.

use foreword_prompt::untrusted::single_line;

use crate::keywords::matches;
use crate::text_format::on_one_line;
use crate::user_message::{framed_source, unframed};

const MAX_QUOTES: usize = 3;
const QUOTE_CHARS: usize = 400;
const PATH_CHARS: usize = 120;

/// The result of matching lines against keywords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Findings {
    /// Lines that contain all keywords.
    Answer(Vec<Quote>),
    /// Lines that contain some keywords.
    Nearest(Vec<Quote>),
    /// No line contains a keyword.
    Nothing,
}

/// A line of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quote {
    pub(crate) line: String,
    pub(crate) path: String,
}

impl Findings {
    /// Matches the lines of `result` against `wanted`.
    pub(crate) fn of(result: &str, wanted: &[String]) -> Self {
        let scored: Vec<(usize, Quote)> =
            quotes(result).into_iter().map(|quote| (matches(&quote.line, wanted), quote)).collect();
        let best = scored.iter().map(|(score, _)| *score).max().unwrap_or(0);
        let quoted: Vec<Quote> = scored
            .into_iter()
            .filter(|(score, _)| *score == best)
            .map(|(_, quote)| quote)
            .take(MAX_QUOTES)
            .collect();
        match best {
            0 => Self::Nothing,
            all if all == wanted.len() => Self::Answer(quoted),
            _ => Self::Nearest(quoted),
        }
    }
}

/// The lines of a result below a path, each with its path. Other lines are the tool's own text, which may repeat the
/// question.
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

/// The path of a note in a heading line, and the rest of the line. The path is the first word after numbers and
/// punctuation.
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

    use super::*;
    use crate::keywords::keywords;

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
    fn line_with_all_keywords_is_the_answer() {
        assert_eq!(
            found(RESULT, "What's Carol's birthday?"),
            "answer: Carol: birthday 14 March. Loves peonies. (private/people.md)"
        );
    }

    #[test]
    fn lines_with_some_keywords_are_nearest() {
        assert_eq!(
            found(RESULT, "Where does Carol work?"),
            "nearest: Carol: birthday 14 March. Loves peonies. (private/people.md); \
             Carol lives at number 7. (social/people.md)"
        );
    }

    #[test]
    fn missing_keywords_give_nothing() {
        for result in ["", "no notes speak of `eclipse`", RESULT, "2 eclipses found"] {
            assert_eq!(found(result, "When is the eclipse?"), "nothing");
        }
    }

    #[test]
    fn paths_are_recognised_in_common_formats() {
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
    fn framed_note_is_quoted_with_its_path() {
        let note =
            Untrusted::new(Origin::memory("social/trip.md"), "# Trip\n- Carol flies to Lisbon in May.");
        let framed = frame(&[note], &Marker::from_random_bytes([9; 16]));
        assert_eq!(
            found(framed.as_str(), "When does Carol go to Lisbon?"),
            "nearest: Carol flies to Lisbon in May. (social/trip.md)"
        );
    }

    #[test]
    fn quote_may_follow_its_path_on_one_line() {
        assert_eq!(
            found("private/people.md:5: Carol: birthday 14 March.", "Carol's birthday?"),
            "answer: Carol: birthday 14 March. (private/people.md)"
        );
    }
}
