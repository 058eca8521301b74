//! The memory menu of an occasion, with token counts.

use foreword_agent::memory::menu_of;
use foreword_prompt::menu::MenuEntry;
use foreword_prompt::text::with_thousands;
use foreword_workspace::workspace::Workspace;
use serde_json::{Value, json};

use super::MemoryAccess;
use crate::cli::memory::PrincipalArgs;
use crate::failure::Failure;
use crate::occasion::request;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, Output, counted, styled};
use crate::process_context::ProcessContext;

pub(super) fn run(
    who: &PrincipalArgs,
    workspace: &Workspace,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    let built = workspace.build(&request(&who.occasion(), workspace, process)?)?;
    for warning in built.prompt.facts.warnings.iter().filter(|warning| warning.code.starts_with("unknown_")) {
        output.warn(&warning.message);
    }
    let trust = built.prompt.facts.trust.effective();
    let entries = menu_of(&workspace.snapshot(), &built);
    let access = MemoryAccess::existing(workspace, process)?;
    let notes = access.wait(access.memory.note_count(trust))?;
    if output.wants_json() {
        let entries: Vec<Value> = entries.iter().map(entry_json).collect();
        return output.json(&json!({ "trust": trust, "entries": entries, "notes": notes }));
    }
    if entries.is_empty() {
        output.print_stderr(&format!("No memory files for trust `{trust}`."));
    } else {
        let mut table =
            Table::new(&[("path", Align::Left), ("tokens", Align::Right), ("about", Align::Left)]);
        for entry in &entries {
            let tokens = with_thousands(entry.tokens);
            table.row(vec![styled(BOLD, &entry.path), tokens, entry.description.to_string()]);
        }
        output.print(&table.render())?;
    }
    if notes > 0 {
        let notes = counted(notes, "note");
        output.print_stderr(&styled(DIM, format!("Also {notes}; find them with `foreword memory search`.")));
    }
    Ok(())
}

fn entry_json(entry: &MenuEntry) -> Value {
    json!({ "path": entry.path, "tokens": entry.tokens, "description": entry.description })
}
