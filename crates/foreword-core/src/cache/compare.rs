//! Finds the first difference between two request shapes, in the order in which providers cache sections. Does not
//! determine causes.

use std::ops::Range;

use super::chunk_hashes::{Differing, differing};
use super::shape::{RequestShape, Section, SectionName, Span, tokens};

/// How a request differs from the cached prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Divergence {
    /// The request starts with the whole prefix.
    None {
        /// The approximate size of the prefix, in tokens.
        shared_tokens: usize,
    },
    /// The request differs from this point on.
    At(Box<Difference>),
    /// The shapes were computed with different keys.
    Incomparable,
}

/// The first difference between two requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The section, by its name in the current request; for a removed section, its previous name.
    pub section: SectionName,
    /// How the section changed.
    pub change: SectionChange,
    /// The layer within the section.
    pub layer: Option<String>,
    /// The range of differing bytes, with a resolution of 64 bytes, relative to the layer, or to the section if it has
    /// no layers. Only for [`SectionChange::Changed`].
    pub bytes: Option<Range<usize>>,
    /// The approximate number of equal tokens before the difference.
    pub shared_tokens: usize,
    /// Changes to the tools, if the section is a tool.
    pub tools: ToolChanges,
    /// The number of equal sections.
    pub(super) shared_sections: usize,
    /// The offset of the layer in its section.
    pub(super) layer_start: usize,
    pub(super) differing: Option<Differing>,
}

/// How a section or layer changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionChange {
    /// It is new.
    Added,
    /// It was removed.
    Removed,
    /// The same sections are in a different order.
    Reordered,
    /// Its text changed.
    Changed,
}

/// Changes to the tools, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolChanges {
    /// New tools.
    pub added: Vec<String>,
    /// Removed tools.
    pub removed: Vec<String>,
    /// Tools with a changed definition.
    pub edited: Vec<String>,
    /// Whether the remaining tools are in a different order.
    pub reordered: bool,
}

/// Compares the cacheable prefix of `previous` with the start of `current`. The prefix ends at the last breakpoint;
/// without breakpoints it is the whole request.
#[must_use]
pub fn compare(previous: &RequestShape, current: &RequestShape) -> Divergence {
    compare_first(previous, current, previous.marked_prefix(), previous.model == current.model)
}

/// Like [`compare`], for the first `prefix` sections.
pub(super) fn compare_first(
    previous: &RequestShape,
    current: &RequestShape,
    prefix: usize,
    same_model: bool,
) -> Divergence {
    if previous.key_id != current.key_id {
        return Divergence::Incomparable;
    }
    if !same_model {
        return at(Difference::plain(SectionName::Model, SectionChange::Changed));
    }
    let before = &previous.sections[..prefix.min(previous.sections.len())];
    let shared = before.iter().zip(&current.sections).take_while(|(before, now)| before.is_same(now)).count();
    if shared == before.len() {
        return Divergence::None { shared_tokens: tokens(before) };
    }
    let mut difference = first_difference(&previous.sections[shared..], &current.sections[shared..]);
    difference.shared_sections = shared;
    difference.shared_tokens += tokens(&before[..shared]);
    at(difference)
}

fn at(difference: Difference) -> Divergence {
    Divergence::At(Box::new(difference))
}

impl Difference {
    fn plain(section: SectionName, change: SectionChange) -> Self {
        Self {
            section,
            change,
            layer: None,
            bytes: None,
            shared_tokens: 0,
            tools: ToolChanges::default(),
            shared_sections: 0,
            layer_start: 0,
            differing: None,
        }
    }
}

/// The first difference of the remaining sections. `before` is not empty.
fn first_difference(before: &[Section], now: &[Section]) -> Difference {
    let old = &before[0];
    let Some(new) = now.first() else { return Difference::plain(old.name.clone(), SectionChange::Removed) };
    // The section with the lower rank is where the prefix ends.
    let rank = old.name.rank().min(new.name.rank());
    let (before, now) = (of_rank(before, rank), of_rank(now, rank));
    match (before, now) {
        ([old, ..], _) if matches!(old.name, SectionName::Tool(_)) => tool_difference(before, now),
        (_, [new, ..]) if matches!(new.name, SectionName::Tool(_)) => tool_difference(before, now),
        ([], _) => Difference::plain(new.name.clone(), SectionChange::Added),
        (_, []) => Difference::plain(old.name.clone(), SectionChange::Removed),
        ([old, ..], [new, ..]) if matches!(old.name, SectionName::Setting { .. }) => {
            setting_difference(old, new, now)
        }
        ([old, ..], [new, ..]) => match order_change(before, now) {
            SectionChange::Changed => changed(old, new),
            SectionChange::Removed => Difference::plain(old.name.clone(), SectionChange::Removed),
            other => Difference::plain(new.name.clone(), other),
        },
    }
}

/// The leading sections of this rank.
fn of_rank(sections: &[Section], rank: u8) -> &[Section] {
    let count = sections.iter().take_while(|section| section.name.rank() == rank).count();
    &sections[..count]
}

fn setting_difference(old: &Section, new: &Section, now: &[Section]) -> Difference {
    if old.name == new.name {
        return changed(old, new);
    }
    let still_there = now.iter().any(|section| section.name == old.name);
    let (section, change) =
        if still_there { (new, SectionChange::Added) } else { (old, SectionChange::Removed) };
    Difference::plain(section.name.clone(), change)
}

/// Whether unnamed sections, which are compared by text only, were added, removed or reordered.
fn order_change(before: &[Section], now: &[Section]) -> SectionChange {
    let same = |(before, now): (&Section, &Section)| before.hash == now.hash;
    let goes_on = |kept: &[Section], there: &[Section]| !kept.is_empty() && kept.iter().zip(there).all(same);
    let sorted = |sections: &[Section]| {
        let mut hashes: Vec<_> = sections.iter().map(|section| section.hash).collect();
        hashes.sort_unstable();
        hashes
    };
    if sorted(before) == sorted(now) {
        return SectionChange::Reordered;
    }
    if (1..before.len()).any(|gone| goes_on(&before[gone..], now)) {
        return SectionChange::Removed;
    }
    if (1..now.len()).any(|new| now.len() - new >= before.len() && goes_on(before, &now[new..])) {
        return SectionChange::Added;
    }
    SectionChange::Changed
}

fn tool_difference(before: &[Section], now: &[Section]) -> Difference {
    let find =
        |sections: &[Section], wanted: &Section| sections.iter().position(|tool| tool.name == wanted.name);
    let names =
        |sections: &mut dyn Iterator<Item = &Section>| -> Vec<String> { sections.map(tool_name).collect() };
    let edited = |old: &&Section| find(now, old).is_some_and(|at| now[at].hash != old.hash);
    let places: Vec<usize> = before.iter().filter_map(|old| find(now, old)).collect();
    let tools = ToolChanges {
        added: names(&mut now.iter().filter(|new| find(before, new).is_none())),
        removed: names(&mut before.iter().filter(|old| find(now, old).is_none())),
        edited: names(&mut before.iter().filter(edited)),
        reordered: !places.is_sorted(),
    };
    let mut difference = match (before.first(), now.first()) {
        (Some(old), Some(new)) if old.name == new.name => changed(old, new),
        (Some(old), _) if find(now, old).is_none() => {
            Difference::plain(old.name.clone(), SectionChange::Removed)
        }
        (_, Some(new)) if find(before, new).is_none() => {
            Difference::plain(new.name.clone(), SectionChange::Added)
        }
        (_, Some(new)) => Difference::plain(new.name.clone(), SectionChange::Reordered),
        (old, None) => {
            let name = old.map_or(SectionName::Model, |old| old.name.clone());
            Difference::plain(name, SectionChange::Removed)
        }
    };
    difference.tools = tools;
    difference
}

fn tool_name(section: &Section) -> String {
    match &section.name {
        SectionName::Tool(name) => name.clone(),
        other => other.to_string(),
    }
}

/// The difference between two sections at the same position, down to the layer and the bytes.
fn changed(old: &Section, new: &Section) -> Difference {
    let mut difference = Difference::plain(new.name.clone(), SectionChange::Changed);
    let (before, now) = (old.spans.as_slice(), new.spans.as_slice());
    let shared = before.iter().zip(now).take_while(|(old, new)| same_span(old, new)).count();
    difference.layer_start = now[..shared].iter().map(|span| span.bytes).sum();
    let (before, now) = (&before[shared..], &now[shared..]);
    match (before.first(), now.first()) {
        (Some(old), Some(new)) if old.layer == new.layer => {
            let found = differing(old.marked(), new.marked());
            difference.layer.clone_from(&new.layer);
            difference.bytes = Some(found.range.clone());
            difference.differing = Some(found);
        }
        (Some(old), new) if !now.iter().any(|new| new.layer == old.layer) => {
            difference.change = SectionChange::Removed;
            difference.layer = old.layer.clone().or_else(|| new.and_then(|new| new.layer.clone()));
        }
        (_, Some(new)) => {
            let known = before.iter().any(|old| old.layer == new.layer);
            difference.change = if known { SectionChange::Reordered } else { SectionChange::Added };
            difference.layer.clone_from(&new.layer);
        }
        // Equal bytes with different layer boundaries: only a role can differ.
        (_, None) => {}
    }
    let place = difference.layer_start + difference.bytes.as_ref().map_or(0, |bytes| bytes.start);
    difference.shared_tokens = (new.tokens * place).checked_div(new.bytes).unwrap_or(0);
    difference
}

fn same_span(old: &Span, new: &Span) -> bool {
    old.hash == new.hash && old.layer == new.layer
}
