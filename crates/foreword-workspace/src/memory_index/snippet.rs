//! A snippet: the part of a chunk that shows why it matched, on one line, limited in tokens, truncated between words.

use std::collections::BTreeMap;
use std::ops::Range;

use super::search::SearchLimits;
use super::terms::{Side, each_term};

/// The initial number of words in a snippet, before its tokens are counted.
const MAX_WORDS: usize = 44;
/// The number of words before the first match.
const CONTEXT_WORDS: usize = 8;
/// The maximum number of characters.
const MAX_CHARS: usize = 320;

/// A word, and the index of the term it matches.
type WordMatch = (Range<usize>, Option<usize>);

/// The part of `text` with the highest total of `weights`. Its keys must be normalised terms.
pub(super) fn snippet(text: &str, weights: &BTreeMap<&str, f32>, wanted: SearchLimits<'_>) -> String {
    let names: Vec<&str> = weights.keys().copied().collect();
    let values: Vec<f32> = weights.values().copied().collect();
    let mut spots: Vec<WordMatch> = Vec::new();
    each_term(text, Side::Stored, |word, term| {
        let named = names.binary_search(&term).ok();
        match spots.last_mut() {
            Some(last) if last.0 == word => last.1 = last.1.or(named),
            _ => spots.push((word, named)),
        }
    });
    let mut words = MAX_WORDS.min(wanted.snippet_tokens);
    loop {
        let line = one_line(text, window(text, &spots, &values, words));
        if wanted.counter.count(&line) <= wanted.snippet_tokens || words <= 1 {
            return within(line, wanted);
        }
        words = words * 4 / 5;
    }
}

/// The byte range of the best `size` consecutive words.
fn window(text: &str, spots: &[WordMatch], values: &[f32], size: usize) -> Range<usize> {
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
        // More than the rounding error of the running sum.
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

/// The first word of the snippet, so that the match at `first` has context: the start of its line if that is near.
fn line_start(text: &str, spots: &[WordMatch], first: usize) -> usize {
    let earliest = first.saturating_sub(CONTEXT_WORDS);
    let breaks = |at: &usize| text[spots[*at - 1].0.end..spots[*at].0.start].contains('\n');
    (earliest.max(1)..=first).rev().find(breaks).unwrap_or(earliest)
}

/// The range on one line, with `…` where text is omitted.
fn one_line(text: &str, part: Range<usize>) -> String {
    let words: Vec<&str> = text[part.clone()].split_whitespace().collect();
    let head = if part.start > 0 { "…" } else { "" };
    let tail = if part.end < text.trim_end().len() { "…" } else { "" };
    format!("{head}{}{tail}", words.join(" "))
}

/// The line, truncated to the limits: even a single word may exceed them.
fn within(line: String, wanted: SearchLimits<'_>) -> String {
    let fits = |line: &str| {
        line.chars().nth(MAX_CHARS).is_none() && wanted.counter.count(line) <= wanted.snippet_tokens
    };
    if fits(&line) {
        return line;
    }
    let mut kept: String = line.chars().take(MAX_CHARS - 1).collect();
    while !kept.is_empty() && !fits(&format!("{kept}…")) {
        let left = kept.chars().count() * 4 / 5;
        kept = kept.chars().take(left).collect();
    }
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use foreword_prompt::tokens::Tokenizer;
    use proptest::prelude::*;

    use super::*;

    fn wanted(snippet_tokens: usize) -> SearchLimits<'static> {
        SearchLimits { limit: 8, per_document: 3, snippet_tokens, counter: Tokenizer::Estimate.get() }
    }

    fn check(text: &str, looked_for: &[(&str, f32)], tokens: usize, expected: &str) {
        assert_eq!(snippet(text, &looked_for.iter().copied().collect(), wanted(tokens)), expected);
    }

    #[test]
    fn short_chunks_are_shown_whole() {
        check("# People\n\n- Carol: 3 May.\n", &[("carol", 1.0)], 60, "# People - Carol: 3 May.");
        check("", &[("carol", 1.0)], 60, "");
    }

    #[test]
    fn long_chunks_are_shown_at_the_best_match() {
        let filler = "one two three four five six seven eight nine ten eleven twelve\n".repeat(6);
        let text = format!("Carol was here.\n{filler}- Carol: birthday on 3 May, likes peonies.\n{filler}");
        let found = snippet(&text, &[("carol", 1.0), ("birthday", 2.0)].into_iter().collect(), wanted(30));
        assert!(found.starts_with("…Carol: birthday on 3 May, likes peonies. one"), "{found}");
        assert!(found.ends_with('…'), "{found}");
    }

    #[test]
    fn title_only_matches_show_the_start() {
        let text = "word ".repeat(200);
        let found = snippet(&text, &[("carol", 1.0)].into_iter().collect(), wanted(10));
        assert!(found.starts_with("word word") && found.ends_with('…'), "{found}");
    }

    proptest! {
        #[test]
        fn snippets_are_one_line_within_their_tokens(text in "(\\PC{0,20}|\n|a{0,900}|猫|b ){0,80}", tokens in 4..60_usize) {
            let found = snippet(&text, &[("b", 1.0), ("猫", 2.0)].into_iter().collect(), wanted(tokens));
            prop_assert!(Tokenizer::Estimate.get().count(&found) <= tokens, "{found}");
            prop_assert!(!found.contains('\n') && found.chars().count() <= MAX_CHARS);
        }
    }
}
