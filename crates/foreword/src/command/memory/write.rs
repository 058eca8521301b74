//! Keeping a note. Whoever runs this speaks for themselves, or for whom they name: with that person's trust, and with
//! their words marked as theirs.

use std::path::Path;
use std::sync::Arc;

use foreword_agent::memory::{NewNote, write_event};
use foreword_core::event::Event;
use foreword_core::memory_store::MemoryStore;
use foreword_core::message::Provenance;
use foreword_prompt::trust::Trust;
use foreword_workspace::workspace::Workspace;
use serde_json::json;

use super::{Shelf, failure, identified};
use crate::cli::memory::MemoryWriteArgs;
use crate::failure::Failure;
use crate::output::{DIM, GREEN, Output, styled};
use crate::stored::{Stored, now};
use crate::text_input;
use crate::world::World;

pub(super) fn run(
    args: &MemoryWriteArgs,
    workspace: &Workspace,
    world: &World,
    output: &Output,
) -> Result<(), Failure> {
    let store: MemoryStore = args
        .store
        .parse()
        .map_err(|error| Failure::usage(format!("{error}"), "use private, shared or social"))?;
    let snapshot = workspace.snapshot();
    let who = identified(&args.who, &snapshot, (workspace, world), output)?;
    let author = who.user.map(|user| Arc::clone(&user.name));
    let note = NewNote {
        store,
        title: args.title.clone(),
        text: text(args, world)?,
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
        at: now(world),
        random: u128::from_le_bytes(world.marker),
    };
    // What is refused makes no database.
    note.check().map_err(failure)?;
    let shelf = Shelf::of(Stored::open(workspace, world)?);
    let written = shelf.wait(shelf.memory.write(note))?;
    let event = Event { user_id: author, ..write_event(&written, now(world)) };
    if let Some(stored) = &shelf.stored {
        stored.wait(stored.store.add_events(&[event]))?;
    }
    if output.wants_json() {
        return output.json(&json!({
            "path": written.path, "store": written.store.as_str(), "bytes": written.bytes,
            "from_outside": written.from_outside,
        }));
    }
    output.print(&format!("{} as {}", styled(GREEN, "Kept"), written.path))?;
    if written.from_outside {
        output.say(&styled(DIM, "It is kept as somebody else's words, and will be shown as such."));
    }
    Ok(())
}

fn text(args: &MemoryWriteArgs, world: &World) -> Result<String, Failure> {
    match (&args.file, args.text.as_deref()) {
        (Some(file), _) => Ok(text_input::read(file, world)?.text.to_string()),
        (None, Some("-")) => Ok(text_input::read(Path::new("-"), world)?.text.to_string()),
        (None, Some(text)) => Ok(text.to_owned()),
        (None, None) => Err(Failure::usage("there is nothing to keep", "write the text, - or --file FILE")),
    }
}
