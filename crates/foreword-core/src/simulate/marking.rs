//! Where the marks stand in a request, for each way of sending it. Foreword's are the ones its dialects set; for the others
//! those are taken that cost least, so that nothing is compared with a straw man.

use foreword_prompt::prompt::CacheClass;

use super::layout::{Changes, Layout, SizedLayer, Way};
use super::request::Mark;
use super::rules::{CacheRules, Finding};
use crate::models::caching::{LOOK_BACK, MOST_MARKS};
use crate::price::CacheTtl;

/// What is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Marking {
    /// Nothing.
    Nothing,
    /// What of the system prompt stays the same from turn to turn.
    StableSystem,
    /// The same and the end of the system prompt.
    System,
    /// The same and the end of the conversation.
    SystemAndConversation,
}

/// What there is to choose from.
pub(super) fn choices(way: Way, rules: &CacheRules) -> &'static [Marking] {
    use Marking::{Nothing, StableSystem, System, SystemAndConversation};
    match (rules.finding, way) {
        (Finding::AtMarks { .. }, Way::FreezeThenAppend) => &[SystemAndConversation],
        (Finding::AtMarks { .. }, _) => &[Nothing, StableSystem, System, SystemAndConversation],
        // The provider marks the end itself.
        (Finding::AtMarksAndTheEnd { .. }, Way::FreezeThenAppend) => &[System],
        (Finding::AtMarksAndTheEnd { .. }, _) => &[Nothing, StableSystem, System],
        (Finding::AtTheEnd | Finding::LongestPrefix { .. } | Finding::Nothing, _) => &[Nothing],
    }
}

/// The marks of a system prompt behind the tools, by how many segments are before them.
pub(super) fn system(layout: &Layout, marking: Marking, (minimum, ttl): (usize, CacheTtl)) -> Vec<Mark> {
    if marking == Marking::Nothing {
        return Vec::new();
    }
    let tools = usize::from(layout.tools > 0);
    let end = tools + layout.system.len();
    let stays = |layer: &&SizedLayer| matches!(layer.changes, Changes::Never | Changes::WithFile(_));
    let stable = match layout.way {
        Way::FreezeThenAppend => end,
        Way::RebuildEachTurn => tools + layout.system.iter().take_while(stays).count(),
        // One text: a mark in the middle of it can't be written.
        Way::InjectEverything => tools,
    };
    let mut marks = match layout.way {
        Way::FreezeThenAppend => frozen(layout, minimum, ttl),
        Way::RebuildEachTurn | Way::InjectEverything => {
            let mark = |at, ttl| Mark { at, ttl };
            vec![mark(tools, ttl), mark(stable, ttl), mark(end, CacheTtl::FiveMinutes)]
        }
    };
    if marking == Marking::StableSystem {
        marks.retain(|mark| mark.at <= stable);
    }
    marks.retain(|mark| mark.at > 0);
    marks.dedup_by_key(|mark| mark.at);
    marks
}

/// As the dialects do it: behind each stretch of the same stability that is large enough to be kept.
fn frozen(layout: &Layout, minimum: usize, ttl: CacheTtl) -> Vec<Mark> {
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
        marks.push(Mark { at: tools + index + 1, ttl: longest });
    }
    marks
}

/// The marks of a whole request: those of the system prompt, as many as there is room for, and the end of the conversation;
/// and where the request before it ended, if that is too far back to be found from there.
pub(super) fn whole(system: &[Mark], marking: Marking, ends: (usize, Option<usize>)) -> Vec<Mark> {
    let (end, before) = ends;
    let mut said = Vec::new();
    if marking == Marking::SystemAndConversation {
        said.extend(before.filter(|before| end - before >= LOOK_BACK));
        said.push(end);
    }
    let room = MOST_MARKS - said.len();
    let kept = system.len().saturating_sub(room);
    let said = said.into_iter().map(|at| Mark { at, ttl: CacheTtl::FiveMinutes });
    system[kept..].iter().copied().chain(said).collect()
}
