//! Writes a note as the user at the terminal or a named one: with that user's trust, marked as their words.

use std::path::Path;
use std::sync::Arc;

use foreword_agent::memory::{NewNote, write_event};
use foreword_core::event::Event;
use foreword_core::memory_store::MemoryStore;
use foreword_core::message::Provenance;
use foreword_prompt::trust::Trust;
use foreword_workspace::workspace::Workspace;
use serde_json::json;

use super::{MemoryAccess, failure, identified};
use crate::cli::memory::MemoryWriteArgs;
use crate::failure::Failure;
use crate::output::{DIM, GREEN, Output, styled};
use crate::process_context::ProcessContext;
use crate::text_input;
use crate::workspace_store::{WorkspaceStore, now};

pub(super) fn run(
    args: &MemoryWriteArgs,
    workspace: &Workspace,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    let store: MemoryStore = args
        .store
        .parse()
        .map_err(|error| Failure::usage(format!("{error}"), "use private, shared or social"))?;
    let snapshot = workspace.snapshot();
    let who = identified(&args.who, &snapshot, workspace, process, output)?;
    let author = who.user.as_ref().map(|user| Arc::clone(&user.name));
    let note = NewNote {
        store,
        title: args.title.clone(),
        text: text(args, process)?,
        trust: who.trust.effective(),
        provenance: match who.user {
            Some(user) if user.trust == Trust::Full => Provenance::Owner,
            Some(_) => Provenance::User,
            None => Provenance::Outside,
        },
        tainted: false,
        conversation: None,
        turn: None,
        author: author.as_deref().map(str::to_owned),
        at: now(process),
        random: u128::from_le_bytes(process.marker),
    };
    // A rejected note creates no database.
    note.check().map_err(failure)?;
    let access = MemoryAccess::of(WorkspaceStore::open(workspace, process)?);
    let written = access.wait(access.memory.write(note))?;
    let event = Event { user_id: author, ..write_event(&written, now(process)) };
    if let Some(stored) = &access.stored {
        stored.wait(stored.store.add_events(&[event]))?;
    }
    if output.wants_json() {
        return output.json(&json!({
            "path": written.path, "store": written.store.as_str(), "bytes": written.bytes,
            "from_outside": written.from_outside,
        }));
    }
    output.print(&format!("{} as {}", styled(GREEN, "Stored"), written.path))?;
    if written.from_outside {
        output.print_stderr(&styled(DIM, "It is stored and shown as the words of another user."));
    }
    Ok(())
}

fn text(args: &MemoryWriteArgs, process: &ProcessContext) -> Result<String, Failure> {
    match (&args.file, args.text.as_deref()) {
        (Some(file), _) => Ok(text_input::read(file, process)?.text.to_string()),
        (None, Some("-")) => Ok(text_input::read(Path::new("-"), process)?.text.to_string()),
        (None, Some(text)) => Ok(text.to_owned()),
        (None, None) => Err(Failure::usage("the note is empty", "write the text, - or --file FILE")),
    }
}
