//! The few words of a piece that show why it was found: on one line, bounded in tokens, cut between words. Never
//! decides what is found.

use std::collections::BTreeMap;
use std::ops::Range;

use super::search::Wanted;
use super::words::{Side, each_term};

/// How many words a snippet has at first, before it is seen what they weigh.
const WORDS: usize = 44;
/// How many words before the first match give it a context.
const BEFORE: usize = 8;
/// The most characters, whatever they weigh.
const MOST_CHARS: usize = 320;

/// A word and, if it was looked for, which term it is.
type Spot = (Range<usize>, Option<usize>);

/// The part of `text` with the most of `weights`' words, which must be given in the form they are looked for.
pub(super) fn snippet(text: &str, weights: &BTreeMap<&str, f32>, wanted: Wanted<'_>) -> String {
    let names: Vec<&str> = weights.keys().copied().collect();
    let values: Vec<f32> = weights.values().copied().collect();
    let mut spots: Vec<Spot> = Vec::new();
    each_term(text, Side::Stored, |word, term| {
        let named = names.binary_search(&term).ok();
        match spots.last_mut() {
            Some(last) if last.0 == word => last.1 = last.1.or(named),
            _ => spots.push((word, named)),
        }
    });
    let mut words = WORDS.min(wanted.snippet_tokens);
    loop {
        let line = one_line(text, window(text, &spots, &values, words));
        if wanted.counter.count(&line) <= wanted.snippet_tokens || words <= 1 {
            return within(line, wanted);
        }
        words = words * 4 / 5;
    }
}

/// The bytes of the `size` words that tell the most.
fn window(text: &str, spots: &[Spot], values: &[f32], size: usize) -> Range<usize> {
    let mut seen = vec![0_usize; values.len()];
    let (mut value, mut best, mut start) = (0.0_f32, 0.0_f32, 0);
    for (at, (_, term)) in spots.iter().enumerate() {
        if let Some(term) = *term {
            value += if seen[term] == 0 { values[term] } else { 0.0 };
            seen[term] += 1;
        }
        if let Some((_, Some(left))) = at.checked_sub(size).map(|left| &spots[left]) {
            seen[*left] -= 1;
            value -= if seen[*left] == 0 { values[*left] } else { 0.0 };
        }
        // More than what adding and taking away in another order makes of the same value.
        if value > best + 1e-4 {
            (best, start) = (value, (at + 1).saturating_sub(size));
        }
    }
    let first = (start..spots.len()).find(|at| spots[*at].1.is_some()).unwrap_or(0);
    let fits_from_the_start = spots.iter().rposition(|spot| spot.1.is_some()).is_none_or(|last| last < size);
    let start = if fits_from_the_start { 0 } else { line_start(text, spots, first) };
    let end = (start + size).min(spots.len());
    let from = if start == 0 { 0 } else { spots[start].0.start };
    let to = if end == spots.len() { text.len() } else { spots[end - 1].0.end };
    from..to
}

/// The word to begin with, so that the one at `first` has some before it: from the start of its line if that is near.
fn line_start(text: &str, spots: &[Spot], first: usize) -> usize {
    let earliest = first.saturating_sub(BEFORE);
    let breaks = |at: &usize| text[spots[*at - 1].0.end..spots[*at].0.start].contains('\n');
    (earliest.max(1)..=first).rev().find(breaks).unwrap_or(earliest)
}

/// The part on one line, with `…` where something is left out.
fn one_line(text: &str, part: Range<usize>) -> String {
    let words: Vec<&str> = text[part.clone()].split_whitespace().collect();
    let head = if part.start > 0 { "…" } else { "" };
    let tail = if part.end < text.trim_end().len() { "…" } else { "" };
    format!("{head}{}{tail}", words.join(" "))
}

/// The line itself, or as much of its beginning as there may be: a word without end is one word.
fn within(line: String, wanted: Wanted<'_>) -> String {
    let fits = |line: &str| {
        line.chars().nth(MOST_CHARS).is_none() && wanted.counter.count(line) <= wanted.snippet_tokens
    };
    if fits(&line) {
        return line;
    }
    let mut kept: String = line.chars().take(MOST_CHARS - 1).collect();
    while !kept.is_empty() && !fits(&format!("{kept}…")) {
        let left = kept.chars().count() * 4 / 5;
        kept = kept.chars().take(left).collect();
    }
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use foreword_prompt::tokens::Counter;
    use proptest::prelude::*;

    use super::*;

    fn wanted(snippet_tokens: usize) -> Wanted<'static> {
        Wanted { limit: 8, per_document: 3, snippet_tokens, counter: Counter::Estimate.get() }
    }

    fn check(text: &str, looked_for: &[(&str, f32)], tokens: usize, expected: &str) {
        assert_eq!(snippet(text, &looked_for.iter().copied().collect(), wanted(tokens)), expected);
    }

    #[test]
    fn a_short_piece_is_shown_whole_on_one_line() {
        check("# People\n\n- Carol: 3 May.\n", &[("carol", 1.0)], 60, "# People - Carol: 3 May.");
        check("", &[("carol", 1.0)], 60, "");
    }

    #[test]
    fn a_long_piece_is_shown_where_the_most_of_the_question_is() {
        let filler = "one two three four five six seven eight nine ten eleven twelve\n".repeat(6);
        let text = format!("Carol was here.\n{filler}- Carol: birthday on 3 May, likes peonies.\n{filler}");
        let found = snippet(&text, &[("carol", 1.0), ("birthday", 2.0)].into_iter().collect(), wanted(30));
        assert!(found.starts_with("…Carol: birthday on 3 May, likes peonies. one"), "{found}");
        assert!(found.ends_with('…'), "{found}");
    }

    #[test]
    fn what_matches_only_in_its_title_is_shown_from_its_start() {
        let text = "word ".repeat(200);
        let found = snippet(&text, &[("carol", 1.0)].into_iter().collect(), wanted(10));
        assert!(found.starts_with("word word") && found.ends_with('…'), "{found}");
    }

    proptest! {
        #[test]
        fn a_snippet_is_one_line_within_its_tokens(text in "(\\PC{0,20}|\n|a{0,900}|猫|b ){0,80}", tokens in 4..60_usize) {
            let found = snippet(&text, &[("b", 1.0), ("猫", 2.0)].into_iter().collect(), wanted(tokens));
            prop_assert!(Counter::Estimate.get().count(&found) <= tokens, "{found}");
            prop_assert!(!found.contains('\n') && found.chars().count() <= MOST_CHARS);
        }
    }
}
