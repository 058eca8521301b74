//! Where breakpoints are placed, by strategy. Foreword's are those its dialects set; for the other strategies the
//! cheapest placement is used, for a fair comparison.

use foreword_prompt::prompt::CacheClass;

use super::layout::{ChangeTrigger, Layout, SendStrategy, SizedLayer};
use super::request::CacheMarker;
use super::rules::{CacheLookup, CacheModel};
use crate::models::cache_limits::{LOOKBACK_BLOCKS, MAX_BREAKPOINTS};
use crate::price::CacheTtl;

/// Where breakpoints are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakpointPlacement {
    /// No breakpoints.
    Nothing,
    /// After the stable part of the system prompt.
    StableSystem,
    /// The same, and at the end of the system prompt.
    System,
    /// The same, and at the end of the conversation.
    SystemAndConversation,
}

/// The possible placements.
pub(super) fn choices(way: SendStrategy, rules: &CacheModel) -> &'static [BreakpointPlacement] {
    use BreakpointPlacement::{Nothing, StableSystem, System, SystemAndConversation};
    match (rules.finding, way) {
        (CacheLookup::AtMarks { .. }, SendStrategy::FreezeThenAppend) => &[SystemAndConversation],
        (CacheLookup::AtMarks { .. }, _) => &[Nothing, StableSystem, System, SystemAndConversation],
        // The provider marks the end itself.
        (CacheLookup::AtMarksAndTheEnd { .. }, SendStrategy::FreezeThenAppend) => &[System],
        (CacheLookup::AtMarksAndTheEnd { .. }, _) => &[Nothing, StableSystem, System],
        (CacheLookup::AtTheEnd | CacheLookup::LongestPrefix { .. } | CacheLookup::Nothing, _) => &[Nothing],
    }
}

/// The breakpoints in the system prompt after the tools, by the number of segments before them.
pub(super) fn system(
    layout: &Layout,
    marking: BreakpointPlacement,
    minimum: usize,
    ttl: CacheTtl,
) -> Vec<CacheMarker> {
    if marking == BreakpointPlacement::Nothing {
        return Vec::new();
    }
    let tools = usize::from(layout.tools > 0);
    let end = tools + layout.system.len();
    let stays =
        |layer: &&SizedLayer| matches!(layer.changes, ChangeTrigger::Never | ChangeTrigger::WithFile(_));
    let stable = match layout.way {
        SendStrategy::FreezeThenAppend => end,
        SendStrategy::RebuildEachTurn => tools + layout.system.iter().take_while(stays).count(),
        // One text: a breakpoint inside it is not possible.
        SendStrategy::InjectEverything => tools,
    };
    let mut marks = match layout.way {
        SendStrategy::FreezeThenAppend => frozen(layout, minimum, ttl),
        SendStrategy::RebuildEachTurn | SendStrategy::InjectEverything => {
            let mark = |at, ttl| CacheMarker { at, ttl };
            vec![mark(tools, ttl), mark(stable, ttl), mark(end, CacheTtl::FiveMinutes)]
        }
    };
    if marking == BreakpointPlacement::StableSystem {
        marks.retain(|mark| mark.at <= stable);
    }
    marks.retain(|mark| mark.at > 0);
    marks.dedup_by_key(|mark| mark.at);
    marks
}

/// As the dialects do: after each span of the same stability that is large enough to be cached.
fn frozen(layout: &Layout, minimum: usize, ttl: CacheTtl) -> Vec<CacheMarker> {
    let tools = usize::from(layout.tools > 0);
    let (mut tokens, mut longest, mut marks) = (layout.tools, ttl, Vec::new());
    for (index, layer) in layout.system.iter().enumerate() {
        tokens += layer.tokens;
        let ends = layout.system.get(index + 1).is_none_or(|next| next.class != layer.class);
        if !ends || layer.class == CacheClass::None || tokens < minimum {
            continue;
        }
        if layer.class == CacheClass::Conversation {
            longest = CacheTtl::FiveMinutes;
        }
        marks.push(CacheMarker { at: tools + index + 1, ttl: longest });
    }
    marks
}

/// The breakpoints of a whole request: those of the system prompt, as many as fit, the end of the conversation, and the
/// end of the previous request if it is beyond the lookback.
pub(super) fn whole(
    system: &[CacheMarker],
    marking: BreakpointPlacement,
    end: usize,
    before: Option<usize>,
) -> Vec<CacheMarker> {
    let mut said = Vec::new();
    if marking == BreakpointPlacement::SystemAndConversation {
        said.extend(before.filter(|before| end - before >= LOOKBACK_BLOCKS));
        said.push(end);
    }
    let room = MAX_BREAKPOINTS - said.len();
    let kept = system.len().saturating_sub(room);
    let said = said.into_iter().map(|at| CacheMarker { at, ttl: CacheTtl::FiveMinutes });
    system[kept..].iter().copied().chain(said).collect()
}
