//! Finds the cause of a difference between two requests. Known changes on our side come first, then the text, then the
//! shapes alone.

use std::ops::Range;

use foreword_prompt::epoch::Reason;

use super::cause::Cause;
use super::compare::{Difference, SectionChange};
use super::evidence::{Evidence, PreviousRequest};
use super::shape::{Section, SectionName};
use super::volatile::{self, AROUND, Times, Value, ValueKind};

/// A cause with its details.
pub(super) struct Attributed {
    pub(super) cause: Cause,
    /// The byte range of a volatile value, in the layer or section.
    pub(super) bytes: Option<Range<usize>>,
    pub(super) unknown: Vec<&'static str>,
}

impl From<Cause> for Attributed {
    fn from(cause: Cause) -> Self {
        Self { cause, bytes: None, unknown: Vec::new() }
    }
}

/// The cause of `difference`.
pub(super) fn attribute(
    evidence: &Evidence<'_>,
    seen: PreviousRequest<'_>,
    difference: &Difference,
) -> Attributed {
    if let Some(cause) = by_epoch(evidence, difference) {
        return cause.into();
    }
    match &difference.section {
        SectionName::Model => {
            Cause::ModelChanged { from: seen.shape.model.clone(), to: evidence.current.model.clone() }.into()
        }
        SectionName::Setting { name, .. } => Cause::SettingsChanged { name: name.clone() }.into(),
        SectionName::Tool(_) => in_tools(evidence, seen, difference),
        SectionName::System(_) => in_system(evidence, seen, difference),
        SectionName::Message { .. } => in_messages(evidence, seen, difference),
    }
}

/// The cause by the reason of a new epoch, if that reason explains the difference.
fn by_epoch(evidence: &Evidence<'_>, difference: &Difference) -> Option<Cause> {
    let section = &difference.section;
    let in_prompt = matches!(section, SectionName::Tool(_) | SectionName::System(_));
    let in_messages = matches!(section, SectionName::Message { .. });
    match evidence.known.epoch.as_ref()? {
        Reason::TrustFell { from, to } if in_prompt || in_messages => {
            Some(Cause::TrustChanged { from: from.to_string(), to: to.to_string() })
        }
        Reason::Compaction if in_messages => Some(Cause::Compaction),
        Reason::CacheCold if in_prompt => Some(Cause::Expired { certain: true }),
        Reason::Changed(changes) if in_prompt || in_messages => {
            if let Some(trust) = changes.iter().find(|change| &*change.what == "trust") {
                return Some(Cause::TrustChanged { from: trust.from.clone(), to: trust.to.clone() });
            }
            // The shapes already name changed tools.
            let other = changes.iter().find(|change| &*change.what != "tool set").filter(|_| in_prompt)?;
            Some(Cause::OccasionChanged { what: format!("the {}", other.what) })
        }
        _ => None,
    }
}

fn in_tools(evidence: &Evidence<'_>, seen: PreviousRequest<'_>, difference: &Difference) -> Attributed {
    let tools = &difference.tools;
    let none_came_or_went = tools.added.is_empty() && tools.removed.is_empty();
    if none_came_or_went && tools.edited.is_empty() {
        return Cause::ToolsReordered.into();
    }
    if none_came_or_went
        && !tools.reordered
        && let FoundValue::At(value) = find_value(evidence, seen, difference)
    {
        return changes_by_itself(value);
    }
    Cause::ToolsChanged(tools.clone()).into()
}

fn in_system(evidence: &Evidence<'_>, seen: PreviousRequest<'_>, difference: &Difference) -> Attributed {
    let edited = evidence.known.edited.iter().find(|edited| Some(&edited.layer) == difference.layer.as_ref());
    if let Some(edited) = edited {
        return Cause::LayerEdited { layer: edited.layer.clone(), file: edited.file.clone() }.into();
    }
    let found = find_value(evidence, seen, difference);
    if let FoundValue::At(value) = found {
        return changes_by_itself(value);
    }
    let cause = match (&difference.layer, difference.change) {
        (Some(layer), SectionChange::Changed) => Cause::LayerEdited { layer: layer.clone(), file: None },
        (_, change) => Cause::SystemChanged(change),
    };
    let mut attributed = Attributed::from(cause);
    attributed.unknown.push("who changed the text, or where it is from");
    attributed.unknown.extend(found.unknown());
    attributed
}

fn in_messages(evidence: &Evidence<'_>, seen: PreviousRequest<'_>, difference: &Difference) -> Attributed {
    if difference.change == SectionChange::Removed
        && !evidence.current.sections[difference.shared_sections..].is_empty()
    {
        return Cause::HistoryRewritten { trimmed: true }.into();
    }
    if replaces_earlier_messages(seen, evidence, difference) {
        return Cause::Compaction.into();
    }
    let found = find_value(evidence, seen, difference);
    if let FoundValue::At(value) = found {
        return changes_by_itself(value);
    }
    let mut attributed = Attributed::from(Cause::HistoryRewritten { trimmed: false });
    attributed
        .unknown
        .push("who rewrote the message: a summary, a filter, or another conversation under this name");
    attributed.unknown.extend(found.unknown());
    attributed
}

/// Whether a shorter list of new messages replaces earlier messages and the latest messages still follow it.
fn replaces_earlier_messages(
    seen: PreviousRequest<'_>,
    evidence: &Evidence<'_>,
    difference: &Difference,
) -> bool {
    let tail = |sections: &[Section]| -> Vec<[u8; 16]> {
        sections.iter().skip(difference.shared_sections).map(|section| section.hash).collect()
    };
    let (before, now) = (tail(&seen.shape.sections), tail(&evidence.current.sections));
    // At least two: a single short answer may match by chance.
    (2..before.len().saturating_sub(1)).any(|replaced| {
        let kept = &before[replaced..];
        kept.len() >= 2 && (1..replaced).any(|new| now.get(new..).is_some_and(|rest| rest.starts_with(kept)))
    })
}

/// The result of searching the text for a volatile value.
enum FoundValue {
    At(Value),
    NothingSuch,
    NotAtHand,
}

impl FoundValue {
    fn unknown(&self) -> Option<&'static str> {
        match self {
            Self::NotAtHand => Some("whether it is a clock or a random id: the text was not available"),
            Self::At(_) | Self::NothingSuch => None,
        }
    }
}

fn find_value(evidence: &Evidence<'_>, seen: PreviousRequest<'_>, difference: &Difference) -> FoundValue {
    let Some(differing) = &difference.differing else { return FoundValue::NothingSuch };
    let from = differing.range.start.saturating_sub(AROUND);
    let in_section = difference.layer_start + from..difference.layer_start + differing.range.end + AROUND;
    let section = evidence.current.sections.iter().find(|section| section.name == difference.section);
    let end = section.map_or(0, |section| in_section.end.min(section.bytes));
    let Some(text) = evidence.peek.and_then(|peek| peek(&difference.section, in_section.start..end)) else {
        return FoundValue::NotAtHand;
    };
    let times = Times { previous: seen.at, current: evidence.at };
    volatile::sole_difference(differing, &text, from, times).map_or(FoundValue::NothingSuch, FoundValue::At)
}

fn changes_by_itself(value: Value) -> Attributed {
    let cause = match value.kind {
        ValueKind::Clock => Cause::Clock,
        ValueKind::Id(form) => Cause::RandomId(form),
    };
    let unknown = vec!["whether adjacent text changed too: the position is exact to 64 bytes"];
    Attributed { cause, bytes: Some(value.range), unknown }
}
