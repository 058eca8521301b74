//! Where two requests part. Looks at sections in the order in which a provider caches them; says nothing of causes.

use std::ops::Range;

use super::marks::{Differing, differing};
use super::shape::{RequestShape, Section, SectionName, Span, tokens};

/// What became of a cached prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Divergence {
    /// The request begins with all of it.
    None {
        /// About how many tokens that is.
        shared_tokens: usize,
    },
    /// The request is another from here on.
    At(Box<Difference>),
    /// The shapes were made under different keys.
    Incomparable,
}

/// The first place at which a request is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The section, by its name in the request as it is now; if it is gone, by the name it had.
    pub section: SectionName,
    /// What became of it.
    pub change: Change,
    /// The layer within it.
    pub layer: Option<String>,
    /// From the first to the last bytes that differ, to 64 bytes; counted in the layer, or in the section if that has no
    /// layers. Only if it was changed.
    pub bytes: Option<Range<usize>>,
    /// About how many tokens before it are the same.
    pub shared_tokens: usize,
    /// What became of the tools, if it is one.
    pub tools: ToolChanges,
    /// How many sections are the same.
    pub(super) shared_sections: usize,
    /// Where the layer begins in its section.
    pub(super) layer_start: usize,
    pub(super) differing: Option<Differing>,
}

/// What became of a section or a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is new here.
    Added,
    /// It is gone; what is behind it stands in its place.
    Removed,
    /// The same ones are there in another order.
    Reordered,
    /// Its text is another.
    Changed,
}

/// What became of the tools, by their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolChanges {
    /// New ones.
    pub added: Vec<String>,
    /// Those that are gone.
    pub removed: Vec<String>,
    /// Those that read differently.
    pub edited: Vec<String>,
    /// Whether those that stayed are in another order.
    pub reordered: bool,
}

/// Compares what was cacheable of `previous`, which is everything up to its last breakpoint or all of it if it has none,
/// with how `current` begins.
#[must_use]
pub fn compare(previous: &RequestShape, current: &RequestShape) -> Divergence {
    compare_first(previous, current, previous.marked_prefix(), previous.model == current.model)
}

/// The same for the first `prefix` sections.
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
        return at(Difference::plain(SectionName::Model, Change::Changed));
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
    fn plain(section: SectionName, change: Change) -> Self {
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

/// The difference at the first of the sections that are left. There is at least one that was there before.
fn first_difference(before: &[Section], now: &[Section]) -> Difference {
    let old = &before[0];
    let Some(new) = now.first() else { return Difference::plain(old.name.clone(), Change::Removed) };
    // The one that stands further in front is where the prefix ends.
    let rank = old.name.rank().min(new.name.rank());
    let (before, now) = (of_rank(before, rank), of_rank(now, rank));
    match (before, now) {
        ([old, ..], _) if matches!(old.name, SectionName::Tool(_)) => tool_difference(before, now),
        (_, [new, ..]) if matches!(new.name, SectionName::Tool(_)) => tool_difference(before, now),
        ([], _) => Difference::plain(new.name.clone(), Change::Added),
        (_, []) => Difference::plain(old.name.clone(), Change::Removed),
        ([old, ..], [new, ..]) if matches!(old.name, SectionName::Setting { .. }) => {
            setting_difference(old, new, now)
        }
        ([old, ..], [new, ..]) => match order_change(before, now) {
            Change::Changed => changed(old, new),
            Change::Removed => Difference::plain(old.name.clone(), Change::Removed),
            other => Difference::plain(new.name.clone(), other),
        },
    }
}

/// The first sections, as long as they are of this rank.
fn of_rank(sections: &[Section], rank: u8) -> &[Section] {
    let count = sections.iter().take_while(|section| section.name.rank() == rank).count();
    &sections[..count]
}

fn setting_difference(old: &Section, new: &Section, now: &[Section]) -> Difference {
    if old.name == new.name {
        return changed(old, new);
    }
    let still_there = now.iter().any(|section| section.name == old.name);
    let (section, change) = if still_there { (new, Change::Added) } else { (old, Change::Removed) };
    Difference::plain(section.name.clone(), change)
}

/// Whether sections that are told apart by their text alone came, went, or changed places.
fn order_change(before: &[Section], now: &[Section]) -> Change {
    let same = |(before, now): (&Section, &Section)| before.hash == now.hash;
    let goes_on = |kept: &[Section], there: &[Section]| !kept.is_empty() && kept.iter().zip(there).all(same);
    let sorted = |sections: &[Section]| {
        let mut hashes: Vec<_> = sections.iter().map(|section| section.hash).collect();
        hashes.sort_unstable();
        hashes
    };
    if sorted(before) == sorted(now) {
        return Change::Reordered;
    }
    if (1..before.len()).any(|gone| goes_on(&before[gone..], now)) {
        return Change::Removed;
    }
    if (1..now.len()).any(|new| now.len() - new >= before.len() && goes_on(before, &now[new..])) {
        return Change::Added;
    }
    Change::Changed
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
        (Some(old), _) if find(now, old).is_none() => Difference::plain(old.name.clone(), Change::Removed),
        (_, Some(new)) if find(before, new).is_none() => Difference::plain(new.name.clone(), Change::Added),
        (_, Some(new)) => Difference::plain(new.name.clone(), Change::Reordered),
        (old, None) => {
            let name = old.map_or(SectionName::Model, |old| old.name.clone());
            Difference::plain(name, Change::Removed)
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

/// Two sections in the same place with different texts: down to the layer and the bytes.
fn changed(old: &Section, new: &Section) -> Difference {
    let mut difference = Difference::plain(new.name.clone(), Change::Changed);
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
            difference.change = Change::Removed;
            difference.layer = old.layer.clone().or_else(|| new.and_then(|new| new.layer.clone()));
        }
        (_, Some(new)) => {
            let known = before.iter().any(|old| old.layer == new.layer);
            difference.change = if known { Change::Reordered } else { Change::Added };
            difference.layer.clone_from(&new.layer);
        }
        // The same bytes with other borders: only a role can have changed.
        (_, None) => {}
    }
    let place = difference.layer_start + difference.bytes.as_ref().map_or(0, |bytes| bytes.start);
    difference.shared_tokens = (new.tokens * place).checked_div(new.bytes).unwrap_or(0);
    difference
}

fn same_span(old: &Span, new: &Span) -> bool {
    old.hash == new.hash && old.layer == new.layer
}
