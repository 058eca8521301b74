//! What the memory menu of a prompt offers.

use foreword_prompt::menu::MenuEntry;
use foreword_prompt::tokens::Counter;
use foreword_workspace::build::Built;
use foreword_workspace::memory_files::stated_description_of;
use foreword_workspace::snapshot::Snapshot;

/// What the memory menu of `built` offers, with prices: the workspace files that are lines of it, and the memory files.
#[must_use]
pub fn menu_of(snapshot: &Snapshot, built: &Built) -> Vec<MenuEntry> {
    let counter = built.model.as_ref().map_or(Counter::Estimate, |model| model.tokenizer);
    let trust = built.prompt.facts.trust.effective();
    let mut entries = moved(snapshot, built);
    entries.extend(snapshot.menu(trust, counter).iter().cloned());
    entries
}

/// The workspace files that are lines of this prompt's menu.
fn moved(snapshot: &Snapshot, built: &Built) -> Vec<MenuEntry> {
    let segments = built.prompt.facts.in_menu.iter();
    segments
        .filter_map(|segment| {
            let path = segment.origin.clone()?;
            let text = snapshot.file(&path).ok()?.text;
            let description = stated_description_of(&path, &text).into();
            Some(MenuEntry { path, tokens: segment.tokens, description })
        })
        .collect()
}
