//! `memory_index`: the memory menu of the client's prompt, with token counts.

use super::{ResolvedClient, prompt};
use crate::error::AgentError;
use crate::memory::menu_of;
use crate::shared::Shared;
use crate::tool::ToolOutput;

pub(super) async fn run(shared: &Shared, client: &ResolvedClient) -> Result<ToolOutput, AgentError> {
    let built = prompt::of(shared, client.occasion.clone()).await?;
    let entries = menu_of(&client.snapshot, &built);
    let stores = foreword_core::memory_store::MemoryStore::permitted(client.trust);
    let notes: u64 = shared.store.count_observations(&stores).await?.values().sum();
    let mut text = String::new();
    for entry in &entries {
        text.push_str(&format!("{} ({} tokens): {}\n", entry.path, entry.tokens, entry.description));
    }
    if entries.is_empty() {
        text.push_str("There is no memory file for you.\n");
    }
    if notes > 0 {
        let notes = crate::tools::limits::counted(usize::try_from(notes).unwrap_or(usize::MAX), "note");
        text.push_str(&format!("And {notes}, which memory_search finds.\n"));
    }
    Ok(ToolOutput::trusted(text))
}
