//! What the agent had learned to do and would not know any more: skills that were loaded in what a summary stands for.
//! They are said again behind it as they are now, at the trust of the summary.

use foreword_core::compaction::{LoadedSkill, SaidAgain, said_again, skills_loaded};
use foreword_core::history::History;
use foreword_prompt::tokens::Counter;
use foreword_workspace::build::Built;
use foreword_workspace::skills_seen::SkillView;

use crate::prepare::Placed;
use crate::shared::Shared;
use crate::whose;

/// The most tokens that are spent on it.
const ROOM: usize = 8_000;
/// And the most of a model's window, as one in so many.
const PART_OF_WINDOW: usize = 10;

/// The skills that were loaded in `covered`, as they are now for whoever `placed` says.
pub(super) async fn skills(
    shared: &Shared,
    placed: &Placed,
    built: &Built,
    covered: &History,
) -> Option<SaidAgain> {
    let names = skills_loaded(&covered.messages);
    if names.is_empty() {
        return None;
    }
    let snapshot = whose::view(shared, placed, None).await.ok()?.snapshot;
    let (user, trust) = (built.occasion.user.clone(), placed.trust(shared));
    let facts = built.model.as_ref();
    let counter = facts.map_or(Counter::default(), |facts| facts.tokenizer);
    let window = facts.and_then(|facts| facts.context_window).unwrap_or(usize::MAX);
    // Files may lie on a slow disk, and other turns have to go on meanwhile.
    let read = tokio::task::spawn_blocking(move || {
        let view = SkillView { snapshot: &snapshot, user: user.as_deref(), trust };
        let seen = view.skills();
        let now = |name: String| {
            let skill = seen.iter().find(|skill| skill.name == name);
            let text = skill.map(|skill| view.text(skill));
            let counted = text.map(|text| {
                let tokens = counter.get().count(&text);
                (text, tokens)
            });
            LoadedSkill { name, text: counted }
        };
        names.into_iter().map(now).collect::<Vec<_>>()
    });
    said_again(&read.await.ok()?, ROOM.min(window / PART_OF_WINDOW))
}
