//! The memory menu of a prompt.

use foreword_prompt::menu::MenuEntry;
use foreword_prompt::tokens::Tokenizer;
use foreword_workspace::build::Built;
use foreword_workspace::memory_files::stated_description_of;
use foreword_workspace::snapshot::Snapshot;

/// The entries of the memory menu of `built`, with their tokens: workspace files shown in the menu, and memory files.
#[must_use]
pub fn menu_of(snapshot: &Snapshot, built: &Built) -> Vec<MenuEntry> {
    let counter = built.model.as_ref().map_or(Tokenizer::Estimate, |model| model.tokenizer);
    let trust = built.prompt.facts.trust.effective();
    let mut entries = moved(snapshot, built);
    entries.extend(snapshot.menu(trust, counter).iter().cloned());
    entries
}

/// The workspace files shown in this prompt's menu.
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
