//! Scans text for secrets. One Aho-Corasick automaton finds all candidate positions; only those are examined. Text
//! without candidates takes one pass without allocation.

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

/// The maximum compiled size of a configured pattern.
const PATTERN_SIZE: usize = 1 << 20;

/// The check to run at an anchor.
#[derive(Debug, Clone, Copy)]
enum Check {
    Shape(Shape),
    Form(fn(&Hit<'_>) -> Option<Range<usize>>),
    Command(&'static str, Where),
    Assignment,
}

/// The scanner.
#[derive(Debug)]
pub(super) struct Scanner {
    anchors: AhoCorasick,
    closer: Vec<Check>,
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
        let mut anchors: Vec<(String, Check)> = Vec::new();
        anchors.extend(forms::FORMS.iter().map(|(anchor, find)| ((*anchor).to_owned(), Check::Form(*find))));
        anchors.extend(SHAPES.iter().map(|shape| (shape.begins.to_owned(), Check::Shape(*shape))));
        let programs = commands::PROGRAMS.iter();
        anchors.extend(
            programs.map(|(name, letter, place)| ((*name).to_owned(), Check::Command(letter, *place))),
        );
        let parts = assignments::PARTS.into_iter().chain(keys.anchors());
        anchors.extend(parts.map(|part| (part.to_owned(), Check::Assignment)));
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

    /// The ranges of the secrets in `text`, in order and without overlap.
    pub(super) fn secrets(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut free_from = 0;
        for anchor in self.anchors.find_overlapping_iter(text) {
            // Skip anchors inside a secret. The last two are enough, since a secret may start after its anchor.
            let known = |secret: &Range<usize>| secret.start <= anchor.start() && anchor.end() <= secret.end;
            if found.iter().rev().take(2).any(known) {
                continue;
            }
            let hit = Hit { text, at: anchor.range(), free_from };
            if let Some(range) = self.find(&hit, self.closer[anchor.pattern().as_usize()]) {
                free_from = free_from.max(range.end);
                found.push(range);
            }
        }
        self.own_patterns(text, &mut found);
        merged(found)
    }

    fn find(&self, hit: &Hit<'_>, closer: Check) -> Option<Range<usize>> {
        match closer {
            Check::Shape(shape) => shape.find(hit),
            Check::Form(find) => find(hit),
            Check::Command(letter, place) => commands::find(hit, letter, place),
            Check::Assignment => assignments::find(hit, &self.keys),
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

/// Compiles a configured pattern. Its first group is the secret, or the whole match if it has no group.
fn compiled(pattern: &str) -> Result<Regex, ObserveError> {
    let bad = |reason: String| ObserveError::Pattern { pattern: pattern.to_owned(), reason };
    let compiled = RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().map_err(|error| {
        // The last line contains the reason; the lines before it repeat the pattern.
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim();
        bad(last.strip_prefix("error: ").unwrap_or(last).to_owned())
    })?;
    if compiled.is_match("") { Err(bad("it matches every text".to_owned())) } else { Ok(compiled) }
}

/// Whether a range is inside a mask: masks are not redacted again.
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
