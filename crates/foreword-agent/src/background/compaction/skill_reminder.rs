//! Repeats the skills that were loaded in the summarised part of a history, after the summary: their current text, at
//! the trust of the summary.

use foreword_core::compaction::{LoadedSkill, SkillReminder, skill_reminder, skills_loaded};
use foreword_core::history::History;
use foreword_prompt::tokens::Tokenizer;
use foreword_workspace::build::Built;
use foreword_workspace::skill_view::SkillView;

use crate::conversation::agent_routing;
use crate::shared::Shared;
use crate::turn::scope::TurnScope;

/// Maximum tokens of the reminder.
const MAX_TOKENS: usize = 8_000;
/// The reminder takes at most this fraction of the context window (1/10).
const WINDOW_DIVISOR: usize = 10;

/// The current text of the skills that were loaded in `covered`, as visible to the principal of `scope`.
pub(super) async fn loaded_skills(
    shared: &Shared,
    scope: &TurnScope,
    built: &Built,
    covered: &History,
) -> Option<SkillReminder> {
    let names = skills_loaded(&covered.messages);
    if names.is_empty() {
        return None;
    }
    let snapshot = agent_routing::view(shared, scope, None).await.ok()?.snapshot;
    let (user, trust) = (built.occasion.user.clone(), scope.trust(shared));
    let facts = built.model.as_ref();
    let counter = facts.map_or(Tokenizer::default(), |facts| facts.tokenizer);
    let window = facts.and_then(|facts| facts.context_window).unwrap_or(usize::MAX);
    // File reads may block.
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
    skill_reminder(&read.await.ok()?, MAX_TOKENS.min(window / WINDOW_DIVISOR))
}
