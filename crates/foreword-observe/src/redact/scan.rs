//! Looks for secrets in a text. One automaton finds all the places where one may stand; only there is looked closer. A text
//! without any costs one pass and allocates nothing.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};
use regex::{Regex, RegexBuilder};

use super::commands::{self, Where};
use super::hit::Hit;
use super::keys::SecretKeys;
use super::mask::{MASK, mask_at};
use super::shapes::{SHAPES, Shape};
use super::{RedactionRules, assignments, forms};
use crate::error::ObserveError;

/// The largest automaton a pattern of the configuration may become.
const PATTERN_SIZE: usize = 1 << 20;

/// What is done where an anchor was found.
#[derive(Debug, Clone, Copy)]
enum Closer {
    Shape(Shape),
    Form(fn(&Hit<'_>) -> Option<Range<usize>>),
    Command(&'static str, Where),
    Assignment,
}

/// Finds secrets.
#[derive(Debug)]
pub(super) struct Scanner {
    anchors: AhoCorasick,
    closer: Vec<Closer>,
    pub(super) keys: SecretKeys,
    patterns: Vec<Regex>,
}

impl Scanner {
    pub(super) fn new(rules: &RedactionRules) -> Result<Self, ObserveError> {
        let bad = |error: BuildError| ObserveError::Pattern {
            pattern: rules.keys.join(", "),
            reason: error.to_string(),
        };
        let keys = SecretKeys::new(&rules.keys).map_err(bad)?;
        let mut anchors: Vec<(String, Closer)> = Vec::new();
        anchors.extend(forms::FORMS.iter().map(|(anchor, find)| ((*anchor).to_owned(), Closer::Form(*find))));
        anchors.extend(SHAPES.iter().map(|shape| (shape.begins.to_owned(), Closer::Shape(*shape))));
        let programs = commands::PROGRAMS.iter();
        anchors.extend(
            programs.map(|(name, letter, place)| ((*name).to_owned(), Closer::Command(letter, *place))),
        );
        let parts = assignments::PARTS.into_iter().chain(keys.anchors());
        anchors.extend(parts.map(|part| (part.to_owned(), Closer::Assignment)));
        let built = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(anchors.iter().map(|(anchor, _)| anchor));
        let built = built.map_err(bad)?;
        let closer = anchors.into_iter().map(|(_, closer)| closer).collect();
        let patterns = rules.patterns.iter().map(|pattern| compiled(pattern)).collect::<Result<_, _>>()?;
        Ok(Self { anchors: built, closer, keys, patterns })
    }

    /// Where secrets stand in `text`, in order, none in another.
    pub(super) fn secrets(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut free_from = 0;
        for anchor in self.anchors.find_overlapping_iter(text) {
            // What stands in a secret is no further one. The last two are enough: one may begin behind its anchor.
            let known = |secret: &Range<usize>| secret.start <= anchor.start() && anchor.end() <= secret.end;
            if found.iter().rev().take(2).any(known) {
                continue;
            }
            let hit = Hit { text, at: anchor.range(), free_from };
            if let Some(range) = self.look(&hit, self.closer[anchor.pattern().as_usize()]) {
                free_from = free_from.max(range.end);
                found.push(range);
            }
        }
        self.own_patterns(text, &mut found);
        merged(found)
    }

    fn look(&self, hit: &Hit<'_>, closer: Closer) -> Option<Range<usize>> {
        match closer {
            Closer::Shape(shape) => shape.find(hit),
            Closer::Form(find) => find(hit),
            Closer::Command(letter, place) => commands::find(hit, letter, place),
            Closer::Assignment => assignments::find(hit, &self.keys),
        }
    }

    fn own_patterns(&self, text: &str, found: &mut Vec<Range<usize>>) {
        for pattern in &self.patterns {
            for captures in pattern.captures_iter(text) {
                let Some(matched) = captures.get(1).or_else(|| captures.get(0)) else { continue };
                if !matched.is_empty() && !is_in_mask(text, &matched.range()) {
                    found.push(matched.range());
                }
            }
        }
    }
}

/// A pattern of the configuration. What its first group matches is the secret, or all of it where it has none.
fn compiled(pattern: &str) -> Result<Regex, ObserveError> {
    let bad = |reason: String| ObserveError::Pattern { pattern: pattern.to_owned(), reason };
    let compiled = RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().map_err(|error| {
        // The last line says what is wrong; those before it draw the pattern again.
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim();
        bad(last.strip_prefix("error: ").unwrap_or(last).to_owned())
    })?;
    if compiled.is_match("") { Err(bad("it matches every text".to_owned())) } else { Ok(compiled) }
}

/// Whether a place lies in a mask: what was hidden once is not hidden again.
fn is_in_mask(text: &str, range: &Range<usize>) -> bool {
    let mut from = range.start.saturating_sub(MASK.len() + 5);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..range.end].match_indices(MASK).any(|(at, _)| {
        let start = from + at;
        start <= range.start && mask_at(text, start).is_some_and(|end| range.end <= end)
    })
}

fn merged(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_unstable_by_key(|range| (range.start, range.end));
    found.dedup_by(|next, kept| {
        let joins = next.start < kept.end;
        if joins {
            kept.end = kept.end.max(next.end);
        }
        joins
    });
    found
}
